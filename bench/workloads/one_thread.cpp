// bench/workloads/one_thread.cpp: small blocks on one thread. Blocks are written to only where the
// case says "touch" or its text says so: an untouched case shows the allocator alone, a touched one
// what a program pays, for an allocator that leaves freed blocks cold only moves the miss.

#include "workloads.hpp"

namespace bench {
namespace {

constexpr std::size_t largest_small = 1 << 20;

enum class order { lifo, fifo, random };

// Allocates `count`, frees all in the given order, `rounds` times a repetition. The addresses are
// put in that order while the clock stands, so that freeing always reads them one after the other.
series batches(std::size_t count, std::size_t size_bytes, order way, bool touch, std::size_t rounds,
               std::size_t repeat) {
  page_array<void*> blocks(count);
  page_array<void*> in_order(count);
  auto places = shuffled_order(way == order::random ? count : 1, 7);
  auto result = sample_timed(repeat, count * rounds, [&] {
    double elapsed = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto start = clock::now();
      if (touch) {
        for (auto& block : blocks) touch_first(block = take(size_bytes));
      } else {
        for (auto& block : blocks) block = take(size_bytes);
      }
      const auto allocated = clock::now();
      for (std::size_t i = 0; i < count; ++i)
        in_order[i] = blocks[way == order::random ? places[i]
                             : way == order::lifo ? count - 1 - i
                                                  : i];
      const auto ordered = clock::now();
      for (void* block : in_order) give(block);
      elapsed += nanoseconds(allocated - start) + nanoseconds(clock::now() - ordered);
    }
    return elapsed;
  });
  check_fresh(blocks, size_bytes);
  return result;
}

void batch_workload(const char* name, order way, const arguments& given) {
  const std::size_t size_bytes = number(given[0], 64, 8, largest_small);
  constexpr std::size_t count = 10'000, rounds = 20;
  auto result = batches(count, size_bytes, way, false, rounds, repetitions(21));
  report(name, label("%zu", size_bytes), "ns/pair", result, count * rounds);
}

}  // namespace

void pair(const arguments& given) {
  const std::size_t size_bytes = number(given[0], 64, 1, largest_small);
  constexpr std::size_t count = 1'000'000;
  auto result = sample(repetitions(25), count, [&] {
    for (std::size_t i = 0; i < count; ++i) give(take(size_bytes));
  });
  report("pair", label("%zu", size_bytes), "ns/pair", result, count);
}

void lifo(const arguments& given) { batch_workload("lifo", order::lifo, given); }
void fifo(const arguments& given) { batch_workload("fifo", order::fifo, given); }
void random(const arguments& given) { batch_workload("random", order::random, given); }

void random_1m(const arguments& given) {
  const bool touch = option(given[0], "touch");
  constexpr std::size_t count = 1'000'000;
  auto result = batches(count, 64, order::random, touch, 1, repetitions(5));
  report("random_1m", touch ? "64/touch" : "64", "ns/pair", result, count);
}

void churn(const arguments& given) {
  const std::size_t size_bytes = number(given[0], 64, 8, largest_small);
  const std::size_t live = number(given[1], 10'000, 1, 100'000'000);
  const bool touch = option(given[2], "touch");
  page_array<void*> blocks(live);
  for (std::size_t i = 0; i < live; ++i) touch_first(blocks[i] = take(size_bytes), i);
  random_source random(11);
  // The untimed first repetition turns over every block a few times where there are few of them.
  constexpr std::size_t count = 1'000'000;
  auto result = sample(repetitions(live > 100'000 ? 9 : 15), count, [&] {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = random.below(live);
      void*& block = blocks[place];
      give(block);
      block = take(size_bytes);
      if (touch) touch_first(block, place);
    }
  });
  if (touch) check_first_words(blocks);
  give_all(blocks);
  report("churn", label("%zu/%zu%s", size_bytes, live, touch ? "/touch" : ""), "ns/pair", result,
         count);
}

void bulk(const arguments& given) {
  const std::size_t count = number(given[0], 1'000'000, 1, 100'000'000);
  const char* size_name = given[1] == nullptr ? "16" : given[1];
  const bool mixed = is(given[1], "mixed");
  const std::size_t size_bytes = mixed ? 0 : number(given[1], 16, 8, largest_small);
  const size_table sizes = mixed ? size_table(16, 64, 13) : size_table(8, 8, 1);
  page_array<void*> blocks(count);
  const auto round = [&] {
    const auto start = clock::now();
    if (mixed) {
      for (std::size_t i = 0; i < count; ++i) touch_first(blocks[i] = take(sizes[i]), i);
    } else {
      for (std::size_t i = 0; i < count; ++i) touch_first(blocks[i] = take(size_bytes), i);
    }
    for (void* block : blocks) give(block);
    return nanoseconds(clock::now() - start) / static_cast<double>(count);
  };
  if (only_counted(round)) {
    check_fresh(blocks, mixed ? 64 : size_bytes);
    report("bulk", label("%zu/%s", count, size_name), "ns/object", {}, count);
    return;
  }
  series first, warm;
  first.add(round());
  const std::size_t rounds = repetitions(count > 1'000'000 ? 2 : 7);
  for (std::size_t i = 0; i < rounds; ++i) warm.add(round());
  check_fresh(blocks, mixed ? 64 : size_bytes);
  report("bulk", label("%zu/%s/first", count, size_name), "ns/object", first, count);
  report("bulk", label("%zu/%s/warm", count, size_name), "ns/object", warm, count);
}

// ---- growth
// What an operation costs as the number of live blocks grows. Beside
// each figure stands `no_calls`: the same addresses in the same order with no call, for caches and
// TLB miss more often too when there are more blocks, whoever allocated them.

void growth(const arguments& given) {
  never_counted("growth");
  const std::size_t live = number(given[0], 10'000, 1'000, 100'000'000);
  constexpr std::size_t size_bytes = 16;
  // Few blocks are built and torn down several times per repetition, for the clock's sake.
  const std::size_t rounds = live < 1'000'000 ? 1'000'000 / live : 1;
  const std::size_t churned = quick ? 500'000 : 2'000'000;
  const std::size_t repeat = live > 10'000'000 ? 1 : live > 1'000'000 ? 2 : repetitions(9);
  page_array<void*> blocks(live);
  random_source random(89);

  const auto build = [&] {
    for (std::size_t i = 0; i < live; ++i) touch_first(blocks[i] = take(size_bytes), i);
  };
  const auto tear_down = [&] {
    for (void* block : blocks) give(block);
  };
  // Only the building is timed; the untimed first one takes the page faults.
  series built = sample_timed(repeat, live * rounds, [&] {
    double elapsed = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto start = clock::now();
      build();
      elapsed += nanoseconds(clock::now() - start);
      tear_down();
    }
    return elapsed;
  });
  build();
  series rewritten = sample(repeat, live * rounds, [&] {
    for (std::size_t round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < live; ++i) touch_first(blocks[i] = opaque(blocks[i]), i);
  });
  series visited = sample(repeat, churned, [&] {
    for (std::size_t i = 0; i < churned; ++i) {
      const std::size_t place = random.below(live);
      touch_first(blocks[place] = opaque(blocks[place]), place);
    }
  });
  series replaced = sample(repeat, churned, [&] {
    for (std::size_t i = 0; i < churned; ++i) {
      const std::size_t place = random.below(live);
      give(blocks[place]);
      touch_first(blocks[place] = take(size_bytes), place);
    }
  });
  check_first_words(blocks);
  tear_down();
  report("growth", label("%zu/build", live), "ns/op", built, live * rounds, kind::time,
         {"no_calls", rewritten.quantile(0.5)});
  report("growth", label("%zu/churn", live), "ns/op", replaced, churned, kind::time,
         {"no_calls", visited.quantile(0.5)});
}

}  // namespace bench
