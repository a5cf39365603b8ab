// bench/workloads/false_sharing.cpp: blocks of two threads in one cache line. Active: the allocator
// gives neighbours to threads that allocate in turn. Passive: neighbours that one thread allocated
// reach two threads, who free them and get them back. Only the writes are timed, in processor time:
// a thread that waits for a line spends it, a thread that waits for a processor does not. Where the
// two do not run at the same time, there is nothing to see.
#include <array>

#include <time.h>

#include "threads.hpp"
#include "workloads.hpp"

namespace bench {
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
