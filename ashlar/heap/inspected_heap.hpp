// heap/inspected_heap.hpp: each call checked at once, or counted exactly; every block of a heap
// visited.
// Layer: heap.
//
// No hit path comes here: whoever wants calls checked or counted brings each of them. So the
// functions cost a heap without such callers nothing.
// Thread-safety: any caller at any time, unless a function says otherwise.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/heap/exact_counting.hpp>
#include <ashlar/heap/shared_heap.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

/// Where a walk through the blocks of all slabs has come to.
struct block_cursor {
  slab_place slab;
  std::uint32_t block = 0;  ///< of the slab
};

/// `Config` is as for basic_heap.
template <class Config>
class inspected_heap : public shared_heap<Config> {
  using shared = shared_heap<Config>;

 public:
  using classes = typename shared::classes;
  using shared::find;

  /// Effects: a fault naming `call` when no live block starts at `block`. Returns: what was found
  /// there; 0 bytes after a fault.
  found_block expect_block(const void* block, const char* call) noexcept {
    const found_block b = find(block);
    if (b.bytes == 0) fail(block, call);
    if (b.size_class != 0 && !expect_in_use(block, b.size_class, call)) return {};
    return b;
  }

  /// Returns: whether a live block starts at `block`. Never ends in a fault.
  [[nodiscard]] bool is_live(const void* block) noexcept {
    const found_block b = find(block);
    return b.size_class != 0 ? use_of(b.size_class).is_in_use(block) : b.bytes != 0;
  }

  /// Effects: calls visit(address, bytes, note) for each large block, with the lock of the page
  /// heap held, until it returns false. O(runs).
  template <class Visit>
  void for_each_large(Visit visit) noexcept {
    if (!shared::has_started()) return;
    shared::pages().for_each_in_use([&](const run& r, char* begin) {
      return r.kind != run_kind::large || visit(begin, std::size_t{r.pages} << page_shift, r.note);
    });
  }

  /// Effects: calls visit(first place, places, bytes of each) for the next `most` places in a slab,
  /// or as many as it has, and moves `at` behind them. The lock of the slab's class is held.
  /// Returns: false, with `at` at the begin again, behind the last slab. O(1) but for the runs in
  /// between.
  template <class Visit>
  bool visit_next_places(block_cursor& at, std::uint32_t most, Visit visit) noexcept {
    if (!shared::has_started()) return false;
    const slab_place place = shared::pages().next_slab(at.slab);
    if (place.size_class == 0) {
      at = {};
      return false;
    }
    if (place.range != at.slab.range || place.page != at.slab.page) at = {.slab = place};
    const slab_shape& shape = classes::shape(place.size_class);
    const std::uint32_t first = std::min(at.block, shape.blocks);
    const std::uint32_t count = std::min(most, shape.blocks - first);
    const std::size_t size = shape.block_size;
    shared::centrals()[place.size_class].visit_slab(
        place, [&](char* begin) { visit(begin + first * size, count, size); });
    at.block = first + count;
    if (at.block == shape.blocks)
      at = {.slab = {.range = place.range, .page = place.page + shape.pages}};
    return true;
  }

  /// Effects: counts the live block that a request for `size` bytes got.
  void note_allocation(const void* block, std::size_t size) noexcept {
    counting().allocated(shared::pages(), block, find(block), size);
  }
  // Each of these returns false after a fault naming `call`: no live block starts at `block`.

  /// Effects: counts the end of `block`.
  bool note_deallocation(const void* block, const char* call) noexcept {
    const found_block b = expect_block(block, call);
    return b.bytes != 0 && counting().freed(shared::pages(), block, b, call);
  }
  bool expect_live(const void* block, const char* call) noexcept {
    return expect_block(block, call).bytes != 0;
  }
  /// Also when `block` was not noted with `size`: wrong_size.
  bool expect_size(const void* block, std::size_t size, const char* call) noexcept {
    const found_block b = expect_block(block, call);
    return b.bytes != 0 && counting().expect_size(shared::pages(), block, b, size, call);
  }

  /// Effects: counts that `block` stayed and now serves `size` bytes.
  void note_resize(const void* block, std::size_t size) noexcept {
    counting().resized(shared::pages(), block, find(block), size);
  }

 protected:
  using shared::counting;
  using shared::expect_in_use;
  using shared::fail;
  using shared::use_of;

  constexpr inspected_heap() noexcept = default;

  /// Effects: every block has an entry of the slack table. Returns: false when memory was refused.
  [[nodiscard]] bool keep_slack() noexcept { return shared::pages().keep_slack(); }
  /// Effects: counts every call from now on. Requires: as exact_counting::begin.
  void begin_counting(const ashlar_stats& before) noexcept {
    counting().begin(shared::pages(), classes::table(), before);
  }
};

}  // namespace ashlar::detail
