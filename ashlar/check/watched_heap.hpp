// check/watched_heap.hpp: a heap whose calls are looked at, in any of four ways.
// Layer: check.
//
//   the caller --> guarded? --> fully checked? --> filled? --> counted? --> the heap
//
// One front for the process heap and for heap instances. Its callers come here only while
// something looks; else they go to the heap, which knows nothing of this.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/check/full_check.hpp>
#include <ashlar/check/guarded_blocks.hpp>
#include <ashlar/core/address.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/copied_block.hpp>

namespace ashlar::detail {

// Full checks between a caller and a heap: who takes and gives back which
// block.
//   a block's way:  heap --take--> made --> the caller --> freed --> queue --give_back--> heap
// The same for the process heap and heap instances, which differ in how they take and give back.

/// A handle of a heap without full checks.
template <class H>
concept unchecked_heap = requires(H heap, void* block, std::size_t n, const char* call) {
  { heap.take(n, n, true) } -> std::same_as<new_block>;
  { heap.usable_size(block, call) } -> std::same_as<std::size_t>;
  heap.give_back(block, call);
};

/// Effects: gives the heap what has left the queue.
template <unchecked_heap Heap>
void give_back_left(full_check& checks, Heap heap, block_record* leaving,
                    const char* call) noexcept {
  for (block_record* r = leaving; r != nullptr; r = r->next_in_queue)
    heap.give_back(r->block, call);
  checks.forget(leaving);
}

/// Returns: as full_check::made, of a block of the heap's; null when it has none, or there is no
/// record for it.
template <unchecked_heap Heap>
[[nodiscard]] void* try_allocate_checked(full_check& checks, Heap heap, std::size_t bytes,
                                         std::size_t size, std::size_t alignment, bool zeroed,
                                         const char* call) noexcept {
  const auto [block, is_zero] = heap.take(bytes, alignment, zeroed);
  if (block == nullptr) return nullptr;
  using first_bytes = full_check::first_bytes;
  const auto first = !zeroed   ? first_bytes::filled
                     : is_zero ? first_bytes::as_they_are
                               : first_bytes::zeros;
  void* const address =
      checks.made(block, heap.usable_size(block, call), size, alignment, first, call);
  if (address == nullptr) heap.give_back(block, call);
  return address;
}

/// Returns: as try_allocate_checked; null when it has none, though all that waited went back, with
/// its records.
template <unchecked_heap Heap>
[[nodiscard]] void* allocate_checked(full_check& checks, Heap heap, std::size_t size,
                                     std::size_t alignment, bool zeroed,
                                     const char* call) noexcept {
  alignment = std::max(alignment, block_granule);
  const std::size_t bytes = full_check::bytes_for(size, alignment);
  if (bytes == 0 || bytes > PTRDIFF_MAX) return nullptr;
  const auto once = [&] {
    return try_allocate_checked(checks, heap, bytes, size, alignment, zeroed, call);
  };
  if (void* const address = once(); address != nullptr) return address;
  block_record* const waited = checks.emptied_queue(call);
  if (waited == nullptr) return nullptr;
  give_back_left(checks, heap, waited, call);
  return once();
}

/// Effects: as full_check::freed. A fault, interior_pointer, when `address` is no block, but inside
/// one. Returns: false when nothing is known of it, so that it may be a block of the heap's own.
template <unchecked_heap Heap>
[[nodiscard]] bool deallocate_checked(full_check& checks, Heap heap, void* address,
                                      const char* call) noexcept {
  const full_check::freed_result found = checks.freed(address, call);
  give_back_left(checks, heap, found.leaving, call);
  return found.known || !checks.expect_outside(address, call);
}

/// What looks at the calls of one heap. All of it is off at first.
struct heap_watch {
  constexpr heap_watch() noexcept = default;
  constexpr explicit heap_watch(guarded_blocks& all) noexcept : guards(&all) {}

  full_check checks;
  guarded_blocks* guards = nullptr;  ///< null: this heap has none
  std::atomic<bool> counts{false};   ///< the heap counts exactly, and checks each call at once
  /// Freed blocks are filled with this, and new ones with its complement; 0: neither.
  std::atomic<unsigned char> fill{0};

  [[nodiscard]] ASHLAR_HOT bool is_guarded(const void* block) const noexcept {
    return guards != nullptr && guards->contains(block);
  }
  [[nodiscard]] bool counts_exactly() const noexcept {
    return counts.load(std::memory_order_relaxed);
  }
  /// Whether memcheck is told of blocks: while every call comes by here. Not with full checks,
  /// which look into free blocks themselves.
  [[nodiscard]] bool tells_memcheck() const noexcept {
    return memcheck_requests && counts_exactly() && !checks.is_on();
  }
};

/// A handle of the heap below. `take` and `give` look at nothing. The third argument of `take` says
/// whether a block that is known to be zero is worth more than one of the cache.
template <class H>
concept watchable_heap = requires(H heap, void* block, std::size_t n, const char* call) {
  heap.engine();  // a basic_heap
  { heap.take(n, n, true) } -> std::same_as<new_block>;
  heap.give(block, call);
  { H::is_of_process } -> std::convertible_to<bool>;
};

template <watchable_heap Heap>
class watched_heap {
 public:
  static constexpr std::size_t unknown = full_check::unknown;
  static constexpr std::size_t none = full_check::none;  ///< after a fault: no live block is there
  static_assert(guarded_blocks::none == none);

  watched_heap(heap_watch& watch, Heap heap) noexcept : watch_(&watch), heap_(heap) {}

  /// Returns: a block, whose first `size` bytes are zero if it is to be `zeroed`; null when there
  /// is none. `call` is what the checks remember.
  [[nodiscard]] void* take(std::size_t size, std::size_t alignment, bool zeroed,
                           const char* call) const noexcept {
    if constexpr (Heap::is_of_process) {
      if (void* const block = take_guarded(size, alignment, zeroed, call); block != nullptr)
        return zeroed ? block : filled(block, size, 0);
    }
    if (watch_->checks.is_on())
      return allocate_checked(watch_->checks, counted{this}, size, alignment, zeroed, call);
    const auto [block, is_zero] = counted{this}.take(size, alignment, zeroed);
    if (block == nullptr) return nullptr;
    if (!zeroed) return filled_if_asked(block, 0);
    if (!is_zero) return std::memset(block, 0, size);
    if (tells_memcheck()) tell_open(block, size);  // as written as zeros are
    return block;
  }

  /// Effects: takes `block`, not null, back. A fault naming `call` when no live block is known to
  /// start there, or a check finds that it was misused.
  void give(void* block, const char* call) const noexcept {
    if (watch_->is_guarded(block)) return watch_->guards->free(block, call);
    // What they do not know was made before there were checks.
    if (watch_->checks.is_on() && deallocate_checked(watch_->checks, counted{this}, block, call))
      return;
    if (fill_freed(block, call)) counted{this}.give_back(block, call);
  }

  /// Returns: the size that the caller of `block` asked for, where that is known; none after a
  /// fault naming `call`: it is known that no live block starts there.
  [[nodiscard]] std::size_t size_asked(const void* block, const char* call) const noexcept {
    if (watch_->is_guarded(block)) return watch_->guards->size_of(block, call);
    return watch_->checks.is_on() ? watch_->checks.size_of(block, call) : unknown;
  }

  /// Returns: the bytes of `block` that its caller may use; none after a fault, as `size_asked`,
  /// and if the heap counts, whenever no live block starts there. Where the caller is not `inside`
  /// the heap, that is not looked at.
  [[nodiscard]] std::size_t usable_size(const void* block, const char* call,
                                        bool inside = true) const noexcept {
    const std::size_t asked = size_asked(block, call);
    return asked != unknown ? asked : size_in_heap(block, call, inside);
  }

  /// Returns: whether a live block starts at `block`. Never ends in a fault.
  [[nodiscard]] bool is_live(const void* block) const noexcept {
    if (watch_->is_guarded(block)) return watch_->guards->is_live(block);
    if (watch_->checks.is_on()) return watch_->checks.is_live(block);
    return heap_.engine().is_live(block);
  }

  /// Effects: makes `block` hold `size` bytes. A block whose size is known moves always: what still
  /// uses the old one is found then. Returns: the block, wherever it is; null when there is no
  /// memory, and it stays as it is; no_block() after a fault, as usable_size. Shrinking cannot
  /// fail.
  [[nodiscard]] void* resize(void* block, std::size_t size, const char* call) const noexcept {
    std::size_t have = size_asked(block, call);
    if (have == unknown) {
      have = size_in_heap(block, call, true);
      if (have == none) return no_block();
      if (void* const kept = resized_by_heap(block, size, have, call); kept != nullptr) return kept;
    }
    if (have == none) return no_block();
    void* const resized = reallocate_by_copy(
        block, have, size, [&] { return take(size, 1, false, call); },
        [&](void* old) { give(old, call); });
    if (resized == block) note_kept(block, size);
    return resized;
  }

 private:
  /// Effects: `block`, which had as many bytes or more, has `size` from now on.
  void note_kept(void* block, std::size_t size) const noexcept {
    if (watch_->is_guarded(block)) return;
    if (watch_->checks.is_on())
      watch_->checks.shrunk(block, size);
    else if (watch_->counts_exactly())
      heap_.engine().note_resize(block, size);
  }

  /// As usable_size, of a block whose size is not known.
  [[nodiscard]] std::size_t size_in_heap(const void* block, const char* call,
                                         bool inside) const noexcept {
    if (watch_->checks.is_on() && !watch_->checks.expect_outside(block, call)) return none;
    const bool looks = watch_->counts_exactly() && inside;
    if (looks && !heap_.engine().expect_live(block, call)) return none;
    const std::size_t bytes = heap_.engine().usable_size(block, call);
    return bytes != 0 ? bytes : none;
  }

  /// The heap as full checks see it: each block that it takes and gives back is counted.
  struct counted {
    const watched_heap* front;

    [[nodiscard]] new_block take(std::size_t bytes, std::size_t alignment,
                                 bool zeroed) const noexcept {
      const new_block made = front->heap_.take(bytes, alignment, zeroed);
      if (made.address == nullptr) return {};
      auto& engine = front->heap_.engine();
      if (front->watch_->counts_exactly()) engine.note_allocation(made.address, bytes);
      if (front->tells_memcheck()) {  // of all that a caller may ask for and use
        const std::size_t usable = engine.usable_size(made.address, "allocate");
        tell_made({&engine, nullptr}, made.address, usable, usable);
      }
      return made;
    }
    [[nodiscard]] std::size_t usable_size(const void* block, const char* call) const noexcept {
      return front->heap_.engine().usable_size(block, call);
    }
    void give_back(void* block, const char* call) const noexcept {
      auto& engine = front->heap_.engine();
      if (front->watch_->counts_exactly() && !engine.note_deallocation(block, call)) return;
      if (front->tells_memcheck()) tell_freed(&engine, block, engine.usable_size(block, call));
      front->heap_.give(block, call);
    }
  };

  [[nodiscard]] bool tells_memcheck() const noexcept {
    return Heap::is_of_process && watch_->tells_memcheck();
  }

  /// Returns: a guarded block; null: it is another's turn, or this one cannot be.
  [[nodiscard]] void* take_guarded(std::size_t size, std::size_t alignment, bool zeroed,
                                   const char* call) const noexcept {
    guarded_blocks* const guards = watch_->guards;
    if (guards == nullptr || !guards->is_on() || !guards->is_turn_of(heap_.guard_turn()) ||
        heap_.engine().is_sealed())
      return nullptr;
    return guards->allocate(size, alignment, zeroed, call, guards->side_for(heap_.guard_turn()));
  }

  /// Returns: `block` if the heap can make it hold `size` bytes; null if it has to be copied.
  [[nodiscard]] void* resized_by_heap(void* block, std::size_t size, std::size_t have,
                                      const char* call) const noexcept {
    auto& engine = heap_.engine();
    const bool counts = watch_->counts_exactly();
    if (!counts && watch_->fill.load(std::memory_order_relaxed) == 0)
      return engine.reallocate(block, size, call);
    const std::size_t kept = engine.resize_in_place(block, size, call);
    if (kept == 0) return nullptr;
    if (kept == engine.not_ours) return no_block();
    if (tells_memcheck() && kept != have) tell_resized(&engine, block, have, kept);
    if (counts) engine.note_resize(block, size);
    return filled_if_asked(block, have);
  }

  /// Effects: fills what is usable of `block` beyond its first `kept` bytes, if blocks are to be
  /// filled. Returns: block.
  void* filled_if_asked(void* block, std::size_t kept) const noexcept {
    if (watch_->fill.load(std::memory_order_relaxed) == 0) [[likely]]
      return block;
    return filled(block, heap_.engine().usable_size(block, "allocate"), kept);
  }
  void* filled(void* block, std::size_t usable, std::size_t kept) const noexcept {
    const unsigned char byte = watch_->fill.load(std::memory_order_relaxed);
    if (byte != 0 && usable > kept)
      std::memset(static_cast<char*>(block) + kept, ~byte, usable - kept);
    return block;
  }
  /// Effects: fills a block that is about to be freed. Returns: false after a fault naming `call`:
  /// it is known that none starts there.
  bool fill_freed(void* block, const char* call) const noexcept {
    const unsigned char byte = watch_->fill.load(std::memory_order_relaxed);
    if (byte == 0) [[likely]]
      return true;
    const std::size_t bytes = heap_.engine().expect_block(block, call).bytes;
    std::memset(block, byte, std::min(bytes, small_size_max));
    return bytes != 0;
  }

  heap_watch* watch_;
  Heap heap_;
};

}  // namespace ashlar::detail
