// bench/workloads/false_sharing.cpp: blocks of two threads in one cache line. Active: the allocator
// gives neighbours to threads that allocate in turn. Passive: neighbours that one thread allocated
// reach two threads, who free them and get them back. Only the writes are timed; where the two
// threads do not run at the same time, there is nothing to see.
#include <array>

#include "threads.hpp"
#include "workloads.hpp"

namespace bench {

void false_sharing(const arguments& given) {
  const bool passive = is(given[0], "passive");
  if (!passive) option(given[0], "active");
  constexpr std::size_t size_bytes = 8, blocks_each = 16, writes = 100'000, threads = 2;
  std::array<page_array<void*>, threads> blocks{page_array<void*>(blocks_each),
                                                page_array<void*>(blocks_each)};
  auto result = sample_timed(repetitions(15), blocks_each * writes, [&] {
    double elapsed = 0;
    clock::time_point start;
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
      for (void* block : own) {
        auto* word = static_cast<volatile std::uint64_t*>(block);
        meet.wait([&] { start = clock::now(); });
        for (std::size_t i = 0; i < writes; ++i) *word = *word + 1;
        meet.wait([&] { elapsed += nanoseconds(clock::now() - start); });
      }
      for (void* block : own)
        if (first_word(block) != writes) fail("a block was written to by two threads");
      give_all(own);
    });
    return elapsed;
  });
  report("false_sharing", passive ? "passive/8" : "active/8", "ns/write", result,
         blocks_each * writes);
}

}  // namespace bench
