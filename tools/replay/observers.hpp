// tools/replay/observers.hpp: what a run looks at beside executing. Layer: replay.
// Each is a policy of script_thread_run: time() calls the allocator, born() and died() hear of every block.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <time.h>

#include "tools/replay/run_result.hpp"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ashlar::replay {

inline std::uint64_t steady_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// Nothing: for the time of the whole.
struct no_observer {
  template <class Call>
  auto time(call, Call&& run) {
    return run();
  }
  void born(const void*, std::uint64_t) {}
  void died(const void*, std::uint64_t) {}
};

/// The processor's own counter where there is one: half as long to read as the system's clock.
class tick_clock {
 public:
  /// Effects: compares with the system's clock for 20 ms.
  void calibrate() {
    const std::uint64_t from = steady_ns();
    const std::uint64_t first = ticks();
    while (steady_ns() - from < 20'000'000) {
    }
    const std::uint64_t ns = steady_ns() - from;
    ns_per_tick_ = static_cast<double>(ns) / static_cast<double>(ticks() - first);
  }
  static std::uint64_t ticks() {
#if defined(__x86_64__)
    unsigned processor = 0;
    return __rdtscp(&processor);
#else
    return steady_ns();
#endif
  }
  [[nodiscard]] std::uint64_t ns(std::uint64_t tick_count) const {
    return static_cast<std::uint64_t>(static_cast<double>(tick_count) * ns_per_tick_);
  }

 private:
  double ns_per_tick_ = 1;
};

/// How long each call took, the clock's own time included.
class latency_observer {
 public:
  latency_observer(const tick_clock& clock, std::array<latency_counts, call_count>& into)
      : clock_(clock), into_(into) {}
  template <class Call>
  auto time(call which, Call&& run) {
    const std::uint64_t begin = tick_clock::ticks();
    if constexpr (std::is_void_v<decltype(run())>) {
      run();
      into_[static_cast<std::size_t>(which)].add(clock_.ns(tick_clock::ticks() - begin));
    } else {
      auto result = run();
      into_[static_cast<std::size_t>(which)].add(clock_.ns(tick_clock::ticks() - begin));
      return result;
    }
  }
  void born(const void*, std::uint64_t) {}
  void died(const void*, std::uint64_t) {}

 private:
  const tick_clock& clock_;
  std::array<latency_counts, call_count>& into_;
};

/// The bytes asked for and the bytes that blocks have, together over all threads.
struct slack_counts {
  std::atomic<std::uint64_t> requested{0};
  std::atomic<std::uint64_t> usable{0};
  std::atomic<std::uint64_t> peak_requested{0};
  std::atomic<std::uint64_t> usable_at_peak{0};
};

template <class Target>
class slack_observer {
 public:
  slack_observer(Target& target, slack_counts& together, run_counts& own)
      : target_(target), together_(together), own_(own) {}
  template <class Call>
  auto time(call, Call&& run) {
    return run();
  }
  void born(const void* block, std::uint64_t size) {
    const std::uint64_t usable = target_.usable_size(block);
    own_.requested_bytes += size;
    own_.usable_bytes += usable;
    const std::uint64_t now_usable = together_.usable.fetch_add(usable) + usable;
    const std::uint64_t now = together_.requested.fetch_add(size) + size;
    // Between two threads that reach a peak at once the figures may mix, by a block of each.
    if (now > together_.peak_requested.load(std::memory_order_relaxed)) {
      together_.peak_requested.store(now, std::memory_order_relaxed);
      together_.usable_at_peak.store(now_usable, std::memory_order_relaxed);
    }
  }
  void died(const void* block, std::uint64_t size) {
    together_.usable.fetch_sub(target_.usable_size(block));
    together_.requested.fetch_sub(size);
  }

 private:
  Target& target_;
  slack_counts& together_;
  run_counts& own_;
};

}  // namespace ashlar::replay
