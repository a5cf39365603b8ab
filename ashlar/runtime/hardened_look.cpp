// runtime/hardened_look.cpp: what looks at live blocks of the hardened edition, while nobody frees
// them.
// Layer: runtime.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/check/hardened_blocks.hpp>
#include <ashlar/check/live_look.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/os/pause.hpp>
#include <ashlar/os/single_thread.hpp>
#include <ashlar/os/thread_fence.hpp>
#include <ashlar/runtime/hardened_pages.hpp>
#include <ashlar/runtime/process_hardened.hpp>
#include <ashlar/runtime/process_watch.hpp>

namespace ashlar::runtime {

namespace {

/// So many blocks a look, of those that lie beside each other in a slab: some microseconds.
constexpr std::uint32_t blocks_a_look = 32;

/// A look beside other threads has to ask first whether it may. So there one comes after as many
/// allocations as this many, and makes all their steps.
constexpr unsigned steps_beside_threads = 8;

/// Allocations since the last look, about.
constinit std::atomic<std::size_t> not_looked_at{0};
/// Where the looks have come to. It belongs to the thread that has the turn to look.
constinit detail::block_cursor next_blocks;

/// What looks have found so far.
struct found {
  detail::block_sight spoilt;  ///< the first one
  std::size_t live = 0;        ///< blocks
  fault_kind kind = fault_kind::overflow;
  [[nodiscard]] bool is_spoilt() const noexcept { return spoilt.spoilt != nullptr; }
  void note(const detail::block_sight& sight) noexcept {
    live += sight.is_live ? 1 : 0;
    if (sight.spoilt != nullptr) spoilt = sight;
  }
  /// Notes a block that is free, or is becoming so in another thread.
  void note_free(const char* block, std::size_t bytes) noexcept {
    const std::byte* const at =
        detail::first_not_zero(block, std::min(bytes, detail::looked_at_bytes_max));
    if (at == nullptr) return;
    spoilt = {false, bytes, at};
    kind = fault_kind::use_after_free;
  }
};

/// Effects: looks at the next blocks of a slab. Returns: false behind the last ones.
bool look_at_next(detail::block_cursor& next, found& all) noexcept {
  return the_heap.visit_next_places(
      next, blocks_a_look, [&](const char* first, std::size_t count, std::size_t bytes) {
        if (!hardened_looker.begin(first, count * bytes)) return;
        // Where there are other threads, one of them may be about to clear a block that it frees.
        const bool is_alone = os::is_single_threaded();
        found here;
        for (std::size_t i = 0; i != count && !here.is_spoilt(); ++i) {
          const char* const block = first + i * bytes;
          const detail::block_sight sight = hardened_words.sight_of(block, bytes);
          here.note(sight);
          if (is_alone && !sight.is_live) here.note_free(block, bytes);
        }
        if (!hardened_looker.end()) here.spoilt = {};
        here.live += all.live;
        all = here;
      });
}

/// Effects: looks at large blocks. Their owners can change none of them meanwhile without taking
/// its note away, which needs the lock that is held.
void look_at_large(found& all) noexcept {
  the_heap.for_each_large([&](const void* block, std::size_t bytes, std::uint64_t note) {
    if (note != 0) {
      const detail::block_label label = detail::block_words::label_of_note(note);
      const std::size_t to_word = bytes - closed_bytes + detail::label_bytes;
      all.note({true, label.size, hardened_words.first_spoilt(block, to_word, label.size)});
    }
    return !all.is_spoilt();
  });
}

/// Effects: ends in a fault naming `call` when something was found. Requires: the thread holds no
/// lock.
void tell(const found& all, const char* call) noexcept {
  if (!all.is_spoilt()) return;
  ashlar_fault({.kind = all.kind,
                .call = call,
                .address = all.spoilt.spoilt,
                .block_size = all.spoilt.size});
}

}  // namespace

std::size_t hardened_look(const char* call) noexcept {
  while (!hardened_looker.take_turn(&self)) {
    if (hardened_looker.is_turn_of(&self)) return 0;
    os::pause_us(1);
  }
  found all;
  const bool may_look = os::may_fence_all_threads();
  for (detail::block_cursor next; may_look && !all.is_spoilt() && look_at_next(next, all);)
    continue;
  hardened_looker.leave();
  if (!all.is_spoilt()) look_at_large(all);
  tell(all, call);
  return all.live;
}

void look_at_some(std::size_t allocations, const char* call) noexcept {
  const unsigned steps = os::is_single_threaded() ? 1 : steps_beside_threads;
  if (not_looked_at.fetch_add(allocations, std::memory_order_relaxed) + allocations <
      std::size_t{steps} * look_gap)
    return;
  not_looked_at.store(0, std::memory_order_relaxed);
  found all;
  {
    const visit here;
    if (!here.is_inside() || !os::may_fence_all_threads() || !hardened_looker.take_turn(&self))
      return;
    for (unsigned step = 0; step != steps && !all.is_spoilt(); ++step)
      if (!look_at_next(next_blocks, all)) look_at_large(all);
    hardened_looker.leave();
  }
  tell(all, call);
}

}  // namespace ashlar::runtime
