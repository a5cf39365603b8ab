// tools/replay/executor.hpp: one thread of a script, executed on an allocator. Layer: replay.
//
// Order over threads: an operation waits until its slot's turn has come. So each thread's own order is the trace's, a
// death is after its birth, a birth in a slot after the death before it; nothing else is ordered.
// No deadlock: the trace's order satisfies all of that, so the earliest operation that is not done can always be done.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include <sched.h>
#include <time.h>

#include "tools/replay/run_result.hpp"
#include "tools/replay/script.hpp"
#include "tools/replay/stamp.hpp"

namespace ashlar::replay {

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

}  // namespace ashlar::replay
