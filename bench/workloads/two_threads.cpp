// bench/workloads/two_threads.cpp: blocks that are freed by another thread than allocated them, and
// threads that come and go. Threads are not pinned; where fewer than two processors are free, these
// measure the scheduler as well.
#include <array>

#include <time.h>

#include "ring.hpp"
#include "threads.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

// Two threads with an array of `live` blocks each: a round replaces `count` random ones. Exchange: in each
// round a thread has the array that the other one had in the last.
series replace_random(std::size_t repeat, const size_table& sizes, std::size_t live,
                      unsigned rounds, std::size_t count, std::uint64_t seed, bool exchange) {
  std::array<page_array<void*>, 2> arrays{page_array<void*>(live), page_array<void*>(live)};
  for (auto& array : arrays)
    for (std::size_t i = 0; i < live; ++i) touch_first(array[i] = take(sizes[i]), i);
  auto elapsed = sample_threads(2, repeat, [&](std::size_t self, meeting_point& inside) {
    random_source random(seed + self);
    for (unsigned round = 0; round < rounds; ++round) {
      auto& array = arrays[exchange ? (self + round) % 2 : self];
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t drawn = random.next();
        const std::size_t place = ((drawn >> 32) * live) >> 32;
        give(array[place]);
        touch_first(array[place] = take(sizes[drawn % size_table::count]), place);
      }
      inside.wait();
    }
  });
  for (auto& array : arrays) check_first_words(array);
  for (auto& array : arrays) give_all(array);
  return to_mops(elapsed, 2 * rounds * count);
}

}  // namespace

void producer_consumer(const arguments&) {
  static ring blocks;
  constexpr std::size_t count = 1'000'000;
  const size_table sizes(16, 256, 23);
  auto elapsed = sample_threads(2, repetitions(7), [&](std::size_t self, meeting_point&) {
    if (self == 0) {
      for (std::size_t i = 0; i < count; ++i) {
        void* block = take(sizes[i]);
        touch_first(block, i);
        blocks.push(block);
      }
      blocks.publish();
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        void* block = blocks.pop();
        if (*static_cast<volatile std::uint64_t*>(block) != i) [[unlikely]]
          fail("a block arrived with another one's content");
        give(block);
      }
    }
  });
  auto rate = to_mops(elapsed, count);
  report("producer_consumer", "16-256", "Mops/s", rate, count);
}

void larson(const arguments& given) {
  const std::size_t low = number(given[0], 10, 8, 60'000);
  const std::size_t high = number(given[1], 500, low, 60'000);
  constexpr std::size_t rounds = 20, each_round = 20'000;
  auto rate =
      replace_random(repetitions(9), size_table(low, high, 29), 1000, rounds, each_round, 31, true);
  report("larson", label("%zu-%zu", low, high), "Mops/s", rate, 2 * rounds * each_round);
}

void batches_2t(const arguments& given) {
  const std::size_t size_bytes = number(given[0], 64, 8, 60'000);
  const bool touch = option(given[1], "touch");
  constexpr std::size_t batch = 1000, rounds = 200;
  std::array<page_array<void*>, 2> arrays{page_array<void*>(batch), page_array<void*>(batch)};
  const auto order = shuffled_order(batch, 37);
  auto elapsed = sample_threads(2, repetitions(15), [&](std::size_t self, meeting_point& inside) {
    for (std::size_t round = 0; round < rounds; ++round) {
      for (auto& block : arrays[self]) {
        block = take(size_bytes);
        if (touch) touch_first(block);
      }
      inside.wait();
      auto& others = arrays[1 - self];
      for (std::size_t i = 0; i < batch; ++i) give(others[order[i]]);
      inside.wait();
    }
  });
  check_fresh(arrays[0], size_bytes);
  auto each = elapsed.converted([](double ns) { return ns / (batch * rounds); });
  report("batches_2t", label("%zu%s", size_bytes, touch ? "/touch" : ""), "ns/pair/thread", each,
         2 * batch * rounds);
}

void random_sizes(const arguments&) {
  constexpr std::size_t count = 500'000;
  auto rate = replace_random(repetitions(7), size_table(16, 16'000, 41), 500, 1, count, 43, false);
  report("random_sizes", "16-16000", "Mops/s", rate, 2 * count);
}

void threads_short(const arguments& given) {
  const std::size_t low = number(given[0], 16, 1, 32 << 10);
  const std::size_t high = number(given[1], 256, low, 32 << 10);
  const std::size_t threads = quick ? 3'000 : 10'000;
  constexpr std::size_t blocks_each = 1000, at_once = 2, each_sample = 500;
  const size_table sizes(low, high, 47);
  const auto life = [&] {
    std::array<void*, blocks_each> blocks;
    for (std::size_t i = 0; i < blocks_each; ++i) touch_first(blocks[i] = take(sizes[i]));
    for (void* block : blocks) give(block);
  };
  auto result = sample(threads / each_sample, each_sample, [&] {
    for (std::size_t i = 0; i < each_sample; i += at_once) {
      std::thread first(life), second(life);
      first.join();
      second.join();
    }
  });
  report("threads_short", label("1000x%zu-%zu", low, high), "ns/thread", result, threads);
}

// ---- false_sharing
// Blocks of two threads in one cache line. Active: the allocator
// gives neighbours to threads that allocate in turn. Passive: neighbours that one thread allocated
// reach two threads, who free them and get them back. Only the writes are timed, in processor time:
// a thread that waits for a line spends it, a thread that waits for a processor does not. Where the
// two do not run at the same time, there is nothing to see.
namespace {

double thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

void false_sharing(const arguments& given) {
  const bool passive = is(given[0], "passive");
  if (!passive) option(given[0], "active");
  constexpr std::size_t size_bytes = 8, blocks_each = 16, rounds = 50'000, threads = 2;
  std::array<page_array<void*>, threads> blocks{page_array<void*>(blocks_each),
                                                page_array<void*>(blocks_each)};
  constexpr std::size_t operations = threads * blocks_each * rounds;
  auto result = sample_timed(repetitions(15), operations, [&] {
    std::array<double, threads> spent_ns{};
    if (passive) {
      for (std::size_t i = 0; i < blocks_each; ++i)
        for (auto& each : blocks) touch_first(each[i] = take(size_bytes), 0);
    }
    meeting_point meet(threads);
    run_threads(threads, [&](std::size_t self) {
      auto& own = blocks[self];
      if (passive) {
        give_all(own);
        for (auto& block : own) block = take(size_bytes);
      } else {
        for (auto& block : own) {
          for (std::size_t turn = 0; turn < threads; ++turn) {
            if (turn == self) block = take(size_bytes);
            meet.wait();
          }
        }
      }
      for (void* block : own) touch_first(block, 0);
      meet.wait();
      const double before = thread_cpu_ns();
      for (std::size_t round = 0; round < rounds; ++round)
        for (void* block : own) touch_first(block, first_word(block) + 1);
      spent_ns[self] = thread_cpu_ns() - before;
      meet.wait();
      for (void* block : own)
        if (first_word(block) != rounds) fail("a block was written to by two threads");
      give_all(own);
    });
    return spent_ns[0] + spent_ns[1];
  });
  report("false_sharing", passive ? "passive/8" : "active/8", "ns/write", result, operations);
}

}  // namespace bench
