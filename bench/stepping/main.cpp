// bench/stepping/main.cpp: what malloc and free do in a program of several threads, for an allocator that is preloaded.
//
//   call_steps WORKLOAD THREADS CALLS    prints one line of name=value pairs
//     apart     each thread has 1,000 blocks of 16..512 bytes and replaces a random one
//     handoff   each thread allocates 50 blocks at a time, the next thread writes to them and frees them
//     swap      as apart, but one block in 16 is swapped with another thread's first
//
// Each thread warms up at full speed, then steps through its share of CALLS pairs of malloc and free twice. The first
// time tells who has which cache line, the second time is counted.
#include <atomic>
#include <barrier>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "../workloads/harness.hpp"
#include "stepper.hpp"

namespace {

using bench::random_source;  // the same blocks for every allocator

void add(stepping::counts& sum, const stepping::counts& c) {
  sum.instructions += c.instructions;
  sum.locked += c.locked;
  sum.moved_lines += c.moved_lines;
  sum.waits += c.waits;
}

/// A thread's calls: at full speed, or stepped and summed.
class caller {
 public:
  bool is_stepped = false, is_counted = false;
  stepping::counts counted;

  void* take(std::size_t size) {
    void* block = nullptr;
    around([&] { block = std::malloc(size); });
    if (block == nullptr) std::abort();
    touch(block);
    return block;
  }
  void give(void* block) {
    around([&] { std::free(block); });
  }
  void touch(void* block) {
    *static_cast<volatile char*>(block) = 1;
    if (is_stepped) stepping::note_write(block);
  }

 private:
  template <class Call>
  void around(Call call) {
    if (!is_stepped) return call();
    stepping::start_stepping();
    call();
    const stepping::counts c = stepping::stop_stepping();
    if (is_counted) add(counted, c);
  }
};

constexpr std::size_t live_each = 1'000, batch = 50, warm_calls = 20'000;

std::size_t next_size(random_source& random) { return 16 + random.below(497); }

class program {
 public:
  program(std::size_t threads, std::size_t pairs, bool hands_off, bool swaps)
      : threads_(threads),
        pairs_(pairs),
        hands_off_(hands_off),
        swaps_(swaps),
        barrier_(static_cast<std::ptrdiff_t>(threads)),
        blocks_(threads * live_each),
        handed_(threads * batch) {}

  stepping::counts run() {
    std::vector<std::thread> all;
    std::vector<stepping::counts> each(threads_);
    for (unsigned self = 0; self < threads_; ++self)
      all.emplace_back([this, self, &each] { each[self] = run_thread(self); });
    stepping::counts sum;
    for (unsigned self = 0; self < threads_; ++self) {
      all[self].join();
      add(sum, each[self]);
    }
    return sum;
  }

 private:
  stepping::counts run_thread(unsigned self) {
    stepping::prepare_thread(self);
    caller calls;
    random_source random(self + 1);
    work(self, calls, random, warm_calls);
    calls.is_stepped = true;
    work(self, calls, random, pairs_ / threads_);
    calls.is_counted = true;
    work(self, calls, random, pairs_ / threads_);
    return calls.counted;
  }

  void work(unsigned self, caller& calls, random_source& random, std::size_t pairs) {
    barrier_.arrive_and_wait();
    if (hands_off_)
      hand_off(self, calls, random, pairs);
    else
      replace(self, calls, random, pairs);
  }

  void replace(unsigned self, caller& calls, random_source& random, std::size_t pairs) {
    std::atomic<void*>* const own = &blocks_[self * live_each];
    for (std::size_t i = 0; i < pairs; ++i) {
      std::atomic<void*>& place = own[random.below(live_each)];
      void* block = place.exchange(nullptr);
      if (swaps_ && random.below(16) == 0)
        block = blocks_[random.below(blocks_.size())].exchange(block);
      if (block != nullptr) calls.give(block);
      block = place.exchange(calls.take(next_size(random)));
      if (block != nullptr) std::free(block);  // another thread's swap put it there meanwhile
      if (!calls.is_stepped && i % 64 == 0)
        std::this_thread::yield();  // so that threads mix on few processors, too
    }
  }

  void hand_off(unsigned self, caller& calls, random_source& random, std::size_t pairs) {
    const std::size_t from = (self + threads_ - 1) % threads_;
    for (std::size_t i = 0; i < pairs; i += batch) {
      for (std::size_t b = 0; b < batch; ++b)
        handed_[self * batch + b] = calls.take(next_size(random));
      barrier_.arrive_and_wait();
      for (std::size_t b = 0; b < batch; ++b) {
        calls.touch(handed_[from * batch + b]);
        calls.give(handed_[from * batch + b]);
      }
      barrier_.arrive_and_wait();
    }
  }

  std::size_t threads_, pairs_;
  bool hands_off_, swaps_;
  std::barrier<> barrier_;
  std::vector<std::atomic<void*>> blocks_;
  std::vector<void*> handed_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 4 ? argv[1] : "";
  const unsigned long threads = argc == 4 ? std::strtoul(argv[2], nullptr, 10) : 0;
  const unsigned long pairs = argc == 4 ? std::strtoul(argv[3], nullptr, 10) : 0;
  if ((what != "apart" && what != "handoff" && what != "swap") || threads == 0 ||
      threads > stepping::most_threads || pairs < threads) {
    std::fprintf(stderr,
                 "usage: call_steps apart|handoff|swap THREADS PAIRS   THREADS at most %u, PAIRS "
                 "at least THREADS\n",
                 stepping::most_threads);
    return 2;
  }
  program p(threads, pairs, what == "handoff", what == "swap");
  const stepping::counts c = p.run();
  std::printf("workload=%s threads=%lu pairs=%lu instructions=%" PRIu64 " locked=%" PRIu64
              " moved_lines=%" PRIu64 " waits=%" PRIu64 "\n",
              argv[1], threads, pairs / threads * threads, c.instructions, c.locked, c.moved_lines,
              c.waits);
}
