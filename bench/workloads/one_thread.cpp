// bench/workloads/one_thread.cpp: small blocks on one thread. Blocks are written to only where the
// case says "touch" or its text says so: an untouched case shows the allocator alone, a touched one
// what a program pays, for an allocator that leaves freed blocks cold only moves the miss.
#include <algorithm>
#include <array>
#include <cstdio>

#include "harness.hpp"

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
  return sample_timed(repeat, count * rounds, [&] {
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
}

void batch_workload(const char* name, order way, const arguments& given) {
  const std::size_t size_bytes = number(given[0], 64, 1, largest_small);
  constexpr std::size_t count = 10'000, rounds = 20;
  auto result = batches(count, size_bytes, way, false, rounds, repetitions(21));
  char label[32];
  std::snprintf(label, sizeof label, "%zu", size_bytes);
  report(name, label, "ns/pair", result, count * rounds);
}

}  // namespace

void pair(const arguments& given) {
  const std::size_t size_bytes = number(given[0], 64, 1, largest_small);
  constexpr std::size_t count = 1'000'000;
  auto result = sample(repetitions(25), count, [&] {
    for (std::size_t i = 0; i < count; ++i) give(take(size_bytes));
  });
  char label[32];
  std::snprintf(label, sizeof label, "%zu", size_bytes);
  report("pair", label, "ns/pair", result, count);
}

void lifo(const arguments& given) {
  batch_workload("lifo", order::lifo, given);
}
void fifo(const arguments& given) {
  batch_workload("fifo", order::fifo, given);
}
void random_order(const arguments& given) {
  batch_workload("random", order::random, given);
}

void random_1m(const arguments& given) {
  const bool touch = is(given[0], "touch");
  constexpr std::size_t count = 1'000'000;
  auto result = batches(count, 64, order::random, touch, 1, repetitions(5));
  report("random_1m", touch ? "64/touch" : "64", "ns/pair", result, count);
}

void churn(const arguments& given) {
  const std::size_t size_bytes = number(given[0], 64, 8, largest_small);
  const std::size_t live = number(given[1], 10'000, 1, 100'000'000);
  const bool touch = is(given[2], "touch");
  page_array<void*> blocks(live);
  for (auto& block : blocks) touch_first(block = take(size_bytes));
  random_source random(11);
  // The untimed first repetition turns over every block a few times where there are few of them.
  constexpr std::size_t count = 1'000'000;
  auto result = sample(repetitions(live > 100'000 ? 9 : 15), count, [&] {
    for (std::size_t i = 0; i < count; ++i) {
      void*& block = blocks[random.below(live)];
      give(block);
      block = take(size_bytes);
      if (touch) touch_first(block);
    }
  });
  char label[64];
  std::snprintf(label, sizeof label, "%zu/%zu%s", size_bytes, live, touch ? "/touch" : "");
  report("churn", label, "ns/pair", result, count);
  give_all(blocks);
}

void bulk(const arguments& given) {
  const std::size_t count = number(given[0], 1'000'000, 1, 100'000'000);
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
  series first, warm;
  first.add(round());
  const std::size_t rounds = repetitions(count > 1'000'000 ? 2 : 7);
  for (std::size_t i = 0; i < rounds; ++i) warm.add(round());
  char label[64], size_label[24] = "mixed";
  if (!mixed) std::snprintf(size_label, sizeof size_label, "%zu", size_bytes);
  std::snprintf(label, sizeof label, "%zu/%s/first", count, size_label);
  report("bulk", label, "ns/object", first, count);
  std::snprintf(label, sizeof label, "%zu/%s/warm", count, size_label);
  report("bulk", label, "ns/object", warm, count);
}

// Each call between two clock readings, which cost some 20 ns themselves: this is for the tail
// only.
void latency(const arguments&) {
  constexpr std::size_t live = 50'000;
  const std::size_t count = quick ? 500'000 : 1'000'000;
  const size_table sizes(16, 1024, 17);
  page_array<void*> blocks(live);
  page_array<std::uint32_t> allocating(count), freeing(count);
  for (std::size_t i = 0; i < live; ++i) touch_first(blocks[i] = take(sizes[i]));
  random_source random(19);
  const auto limited = [](clock::duration elapsed) {
    return static_cast<std::uint32_t>(std::min(nanoseconds(elapsed), 4e9));
  };
  for (std::size_t i = 0; i < count; ++i) {
    void*& block = blocks[random.below(live)];
    const std::size_t size_bytes = sizes[random.below(4096)];
    const auto start = clock::now();
    give(block);
    const auto between = clock::now();
    block = take(size_bytes);
    const auto end = clock::now();
    touch_first(block);
    freeing[i] = limited(between - start);
    allocating[i] = limited(end - between);
  }
  const auto percentile = [&](const char* label, page_array<std::uint32_t>& times, double p) {
    const auto place = static_cast<std::size_t>(p * static_cast<double>(count - 1));
    std::nth_element(times.begin(), times.begin() + place, times.end());
    series value;
    value.add(static_cast<double>(times[place]));
    report("latency", label, "ns", value, count);
  };
  percentile("malloc/p99", allocating, 0.99);
  percentile("malloc/p99.9", allocating, 0.999);
  percentile("malloc/p99.99", allocating, 0.9999);
  percentile("free/p99", freeing, 0.99);
  percentile("free/p99.9", freeing, 0.999);
  percentile("free/p99.99", freeing, 0.9999);
  give_all(blocks);
}

}  // namespace bench
