// tools/replay/executor.hpp: one thread of a script, executed on an allocator. Layer: replay.
//
// Order over threads: an operation waits until its slot's turn has come. So each thread's own order is the trace's, a
// death is after its birth, a birth in a slot after the death before it; nothing else is ordered.
// No deadlock: the trace's order satisfies all of that, so the earliest operation that is not done can always be done.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include <sched.h>
#include <time.h>

#include "tools/replay/run_result.hpp"
#include "tools/replay/script.hpp"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ashlar::replay {

// What is written into a block and is there when it dies.
// Law: byte i of a block is byte i % 8 of its stamp; the first and the last 8 bytes are, the others where all are
// touched. A stamp is of the slot and turn of the birth, so no two blocks that live at once have one.

enum class touch : std::uint8_t { ends, all };

inline std::uint64_t stamp_of(std::uint32_t slot, std::uint32_t turn) {
  return (std::uint64_t{slot} << 32 | turn) * 0x9e3779b97f4a7c15u | 1;
}

namespace detail {

// The stamp as the 8 bytes from `offset` on.
inline std::uint64_t word_at(std::uint64_t stamp, std::uint64_t offset) {
  return std::rotr(stamp, static_cast<int>(offset % 8 * 8));
}
inline std::uint64_t load(const unsigned char* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}
inline void store(unsigned char* to, std::uint64_t word) { std::memcpy(to, &word, sizeof word); }

}  // namespace detail

inline void write_stamp(void* block, std::uint64_t size, std::uint64_t stamp, touch which) {
  auto* const bytes = static_cast<unsigned char*>(block);
  if (size < 8) {
    for (std::uint64_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(stamp >> 8 * i);
    return;
  }
  if (which == touch::all)
    for (std::uint64_t i = 0; i + 8 <= size; i += 8) detail::store(bytes + i, stamp);
  detail::store(bytes, stamp);
  detail::store(bytes + size - 8, detail::word_at(stamp, size));
}

/// Whether the first bytes, up to 8 and up to `size`, are the stamp's.
inline bool begins_with_stamp(const void* block, std::uint64_t size, std::uint64_t stamp) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  if (size >= 8) return detail::load(bytes) == stamp;
  bool same = true;
  for (std::uint64_t i = 0; i < size; ++i)
    same &= bytes[i] == static_cast<unsigned char>(stamp >> 8 * i);
  return same;
}

inline bool has_stamp(const void* block, std::uint64_t size, std::uint64_t stamp, touch which) {
  if (!begins_with_stamp(block, size, stamp)) return false;
  if (size < 8) return true;
  const auto* const bytes = static_cast<const unsigned char*>(block);
  if (which == touch::all)
    for (std::uint64_t i = 0; i + 8 <= size; i += 8)
      if (detail::load(bytes + i) != stamp) return false;
  return detail::load(bytes + size - 8) == detail::word_at(stamp, size);
}

inline bool is_zero(const void* block, std::uint64_t size, touch which) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  const std::uint64_t ends = which == touch::all || size < 16 ? size : 8;
  for (std::uint64_t i = 0; i < ends; ++i)
    if (bytes[i] != 0) return false;
  return ends == size || detail::load(bytes + size - 8) == 0;
}

struct slot {
  void* block;
  std::atomic<std::uint32_t> turn;
};

struct bad_block {
  bool found = false;
  std::uint64_t operation = 0;
  std::uint64_t size = 0;
};

/// Effects: returns when `turn` is `wanted`. Spins, then lets others run, then sleeps: 50 us, at most 1 ms each time.
inline void wait_for_turn(const std::atomic<std::uint32_t>& turn, std::uint32_t wanted) {
  constexpr int spins = 200;
  constexpr int yields = 50;
  constexpr long shortest_sleep_ns = 50'000;
  constexpr long longest_sleep_ns = 1'000'000;
  long sleep_ns = shortest_sleep_ns;
  for (int i = 0; turn.load(std::memory_order_acquire) != wanted; ++i) {
    if (i < spins) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } else if (i < spins + yields) {
      ::sched_yield();
    } else {
      const timespec pause{0, sleep_ns};
      ::nanosleep(&pause, nullptr);
      sleep_ns = sleep_ns * 2 < longest_sleep_ns ? sleep_ns * 2 : longest_sleep_ns;
    }
  }
}

/// `Alone`: the script has one thread, so no slot is waited for.
template <class Target, class Observer, bool Alone>
class script_thread_run {
 public:
  script_thread_run(Target& target, Observer observer, slot* slots, touch touched,
                    run_counts& counts)
      : target_(target), observer_(observer), slots_(slots), touched_(touched), counts_(counts) {}

  void execute(std::span<const operation> operations) {
    // The table of slots is the worker's own: what it costs to look into it is no part of the allocator's time.
    constexpr std::size_t ahead = 16;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (i + ahead < operations.size()) __builtin_prefetch(&slots_[operations[i + ahead].slot], 1);
      execute(operations[i]);
      ++done_;
    }
  }
  [[nodiscard]] const bad_block& first_bad() const { return bad_; }

 private:
  void execute(const operation& o) {
    slot& at = slots_[o.slot];
    if constexpr (!Alone) {
      if (at.turn.load(std::memory_order_acquire) != o.turn) {
        ++counts_.waits;
        wait_for_turn(at.turn, o.turn);
      }
    }
    switch (o.kind) {
      case operation_kind::allocate:
        born(at, o, observer_.time(call::malloc_call, [&] { return target_.allocate(o.size()); }));
        break;
      case operation_kind::zeroed:
        born(at, o, observer_.time(call::calloc_call, [&] { return target_.zeroed(o.size()); }));
        break;
      case operation_kind::aligned:
        born(at, o, observer_.time(call::aligned_call, [&] {
          return target_.aligned(o.size(), std::uint64_t{1} << o.alignment_shift);
        }));
        break;
      case operation_kind::release:
        release(at, o);
        break;
      case operation_kind::resize_from:
        check(at, o);
        resized_size_ = o.size();
        break;
      case operation_kind::resize:
        resize(at, o);
        break;
      case operation_kind::inspect:
        check(at, o);
        break;
    }
    if constexpr (!Alone) at.turn.store(o.turn + 1, std::memory_order_release);
  }

  void born(slot& at, const operation& o, void* block) {
    at.block = block;
    if (block == nullptr) [[unlikely]] {
      ++counts_.failures;
      return;
    }
    ++counts_.births;
    if (o.kind == operation_kind::zeroed && !is_zero(block, o.size(), touched_)) ++counts_.not_zero;
    const std::uint64_t alignment = std::uint64_t{1} << o.alignment_shift;
    if ((reinterpret_cast<std::uintptr_t>(block) & (alignment - 1)) != 0) ++counts_.misaligned;
    write_stamp(block, o.size(), stamp_of(o.slot, o.turn), touched_);
    observer_.born(block, o.size());
  }

  void check(const slot& at, const operation& o) {
    if (at.block == nullptr) return;
    if (!has_stamp(at.block, o.size(), stamp_of(o.slot, o.turn - 1), touched_)) bad(o);
  }

  void release(slot& at, const operation& o) {
    if (at.block == nullptr) return;
    check(at, o);
    observer_.died(at.block, o.size());
    observer_.time(call::free_call, [&] { target_.release(at.block, o.size()); });
    at.block = nullptr;
  }

  // What of the old block is known to be in the new one: its first bytes, and its last ones where it has not shrunk.
  void resize(slot& at, const operation& o) {
    const std::uint64_t stamp = stamp_of(o.slot, o.turn - 2);
    if (at.block == nullptr) {  // the birth failed
      born(at, o, observer_.time(call::malloc_call, [&] { return target_.allocate(o.size()); }));
      return;
    }
    observer_.died(at.block, resized_size_);
    void* const block = observer_.time(
        call::realloc_call, [&] { return target_.resize(at.block, resized_size_, o.size()); });
    if (block == nullptr) {
      target_.release(at.block,
                      resized_size_);  // from here on it is not there, as after a birth that failed
    } else if (o.size() >= resized_size_ ? !has_stamp(block, resized_size_, stamp, touched_)
                                         : !begins_with_stamp(block, o.size(), stamp)) {
      bad(o);
    }
    born(at, o, block);
  }

  void bad(const operation& o) {
    ++counts_.corrupted;
    if (!bad_.found) bad_ = {true, done_, o.size()};
  }

  Target& target_;
  Observer observer_;
  slot* slots_;
  touch touched_;
  run_counts& counts_;
  std::uint64_t done_ = 0;
  std::uint64_t resized_size_ = 0;
  bad_block bad_;
};

// ---- what a run looks at beside executing. Each is a policy of script_thread_run: time() calls the
// allocator, born() and died() hear of every block.

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
