// bench/workloads/threads.hpp: threads that work together and are timed together. They are not
// pinned; where fewer processors are free than threads run, the scheduler is measured as well.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>

#include "harness.hpp"

namespace bench {

inline constexpr std::size_t most_threads = 64;

inline void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}
inline constexpr unsigned spins_before_sleep = 1000;
// Spins, then yields: two threads may have to share one busy processor.
template <class Condition>
void wait_until(Condition condition) {
  for (unsigned spins = 0; !condition(); ++spins) {
    if (spins < spins_before_sleep)
      pause_cpu();
    else
      std::this_thread::yield();
  }
}

// All threads meet; everything written before wait() is seen by the others after it. Who waits long
// sleeps, and leaves the processor to those who still work. Where each thread has a processor, long
// is some 100 us, since waking up takes longer than many a round lasts; but two threads that share
// one after all wait so long in each round, and batches_2t took 130 times as long with a wait of a
// millisecond. The last to arrive calls last() before anyone leaves: only it knows when all had
// arrived, for where processors are few the others may wake much later.
class meeting_point {
 public:
  explicit meeting_point(std::size_t threads)
      : threads_(static_cast<unsigned>(threads)),
        spins_(threads <= std::thread::hardware_concurrency() ? 4 * spins_before_sleep
                                                              : spins_before_sleep) {}
  void wait() {
    wait([] {});
  }
  template <class Last>
  void wait(Last last) {
    const unsigned round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == threads_ - 1) {
      last();
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      round_.notify_all();
      return;
    }
    for (unsigned spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
      if (spins < spins_)
        pause_cpu();
      else
        round_.wait(round, std::memory_order_acquire);
    }
  }

 private:
  unsigned threads_, spins_;
  alignas(64) std::atomic<unsigned> arrived_{0};
  alignas(64) std::atomic<unsigned> round_{0};
};

// body(0) here and body(1) .. body(threads - 1) on new threads; returns when all have ended.
template <class Body>
void run_threads(std::size_t threads, Body body) {
  std::array<std::thread, most_threads> others;
  for (std::size_t self = 1; self < threads; ++self) others[self] = std::thread(body, self);
  body(std::size_t{0});
  for (std::size_t self = 1; self < threads; ++self) others[self].join();
}

// Threads run body(thread, meeting point) together, once untimed and `count` times timed. Returns
// the nanoseconds of each repetition, from when all were ready to the end of the last one.
template <class Body>
series sample_threads(std::size_t threads, std::size_t count, Body body) {
  series result;
  clock::time_point start;
  meeting_point start_line(threads), inside(threads), finish(threads);
  const std::size_t untimed = bodies_to_count != 0 ? bodies_to_count : 1;
  const std::size_t timed = bodies_to_count != 0 ? 0 : count;
  run_threads(threads, [&](std::size_t self) {
    for (std::size_t i = 0; i < untimed + timed; ++i) {
      start_line.wait([&] { start = clock::now(); });
      body(self, inside);
      finish.wait([&] {
        if (i >= untimed) result.add(nanoseconds(clock::now() - start));
      });
    }
  });
  return result;
}

}  // namespace bench
