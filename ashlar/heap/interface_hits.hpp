// heap/interface_hits.hpp: hits of the malloc interface's other calls, which only the library
// itself makes.
// Layer: heap.
//
// A program that includes ashlar's headers allocates and frees by hit_path.hpp alone. These are
// apart, so that it does not compile them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/hit_path.hpp>

namespace ashlar::detail {

inline constexpr std::size_t size_end = small_size_max + 1;  ///< the least size without a class

/// Stacks without room, of who has no cache: every call misses.
inline constexpr void* no_room[2] = {};
[[nodiscard]] constexpr cache_tops tops_without_room() noexcept {
  cache_tops t{};
  for (void**& top : t.top) top = const_cast<void**>(no_room) + 1;
  return t;
}

/// As `hit_path`, with more calls.
template <class Classes>
class interface_hits : public hit_path<Classes> {
  using base = hit_path<Classes>;

 public:
  using base::try_allocate;
  using base::try_deallocate;

  /// As `try_allocate` for sizes below `end` only, which is `size_end` or less.
  [[nodiscard]] ASHLAR_HOT static void* try_allocate(cache_tops& tops, std::size_t end,
                                                     std::size_t size) noexcept {
    if (size >= end) [[unlikely]]
      return nullptr;
    return base::pop(tops, Classes::of_size(size));
  }

  /// As `try_deallocate` for blocks before `end` only, which is that of the tables or less.
  [[nodiscard]] ASHLAR_HOT static bool try_deallocate(cache_tops& tops, std::size_t end,
                                                      void* block) noexcept {
    return base::push(tops, tops.tables.page_of(block, end), block);
  }

  /// Returns: a block of at least `size` bytes at a multiple of `alignment`, or of the next power
  /// of two; null if that is for a miss path to do: the stack is empty, the alignment is 0, or not
  /// every block of the size's class is aligned so. Never calls anything.
  [[nodiscard]] ASHLAR_HOT static void* try_allocate_aligned(cache_tops& tops, std::size_t size,
                                                             std::size_t alignment) noexcept {
    return try_allocate_aligned(tops, size_end, size, alignment);
  }
  /// The same for sizes below `end` only, which is `size_end` or less.
  [[nodiscard]] ASHLAR_HOT static void* try_allocate_aligned(cache_tops& tops, std::size_t end,
                                                             std::size_t size,
                                                             std::size_t alignment) noexcept {
    if (size >= end) [[unlikely]]
      return nullptr;
    const class_index c = Classes::of_size(size);
    if (alignment - 1 >= Classes::alignment(c)) [[unlikely]]
      return nullptr;
    return base::pop(tops, c);
  }

  /// Returns: the bytes a caller may use of `block`; 0 if that is for `usable_size` to say: the
  /// block is large, null or not ours. Never calls anything.
  [[nodiscard]] ASHLAR_HOT static std::size_t try_usable_size(const cache_tops& tops,
                                                              const void* block) noexcept {
    return Classes::block_size(tops.tables.class_of(block));  // class 0 has blocks of 0 bytes
  }

  /// Returns: whether `block` is one in use that `resize_in_place` to `size` bytes, not 0, leaves
  /// as it is. False also where that is for `resize_in_place` to find out, and for 0 bytes. Never
  /// calls anything.
  [[nodiscard]] ASHLAR_HOT static bool stays(const cache_tops& tops, const void* block,
                                             std::size_t size) noexcept {
    const page_class page = tops.tables.page_of(block);
    const class_index c = page.size_class;
    const auto is_of_class = [=] { return Classes::of_size(size) == c; };
    return is_well_used(Classes::kept_size(c), size, is_of_class) && is_in_use(tops, page, block);
  }

  /// Effects: as an allocation of `size` bytes, a copy and the release of `block`, if both hit.
  /// Returns: the copy. Null, with nothing changed, if that is for a miss path to do: one would
  /// miss, `size` is 0 or has the block's class, or `block` is not in use. Calls memcpy alone.
  [[nodiscard]] static void* try_move(cache_tops& tops, void* block, std::size_t size) noexcept {
    if (size >= Classes::hit_end()) [[unlikely]]
      return nullptr;
    const page_class page = tops.tables.page_of(block);
    const class_index from = page.size_class;
    if (from == 0 || size == 0) [[unlikely]]
      return nullptr;
    const class_index to = Classes::of_size(size);
    const bool is_full = *tops.top[from] == nullptr;
    if (to == from || is_full || !is_in_use(tops, page, block)) [[unlikely]]
      return nullptr;
    void* const moved = base::pop(tops, to);
    if (moved == nullptr) [[unlikely]]
      return nullptr;
    std::memcpy(moved, block, std::min(size, Classes::block_size(from)));
    static_cast<void>(base::template push<false>(tops, page, block));
    return moved;
  }

  /// Returns: whether a block of class `c` holds `size` bytes, not 0, and no smaller class would
  /// save much: more than half of it is used, or there is none. Class 0 serves nothing.
  [[nodiscard]] static bool serves_well(class_index c, std::size_t size) noexcept {
    return is_well_used(Classes::block_size(c), size,
                        [=] { return Classes::class_for(size, 1) == c; });
  }

 private:
  template <class IsOfClass>
  [[nodiscard]] ASHLAR_HOT static bool is_well_used(std::size_t have, std::size_t size,
                                                    IsOfClass is_of_class) noexcept {
    return size <= have && (size > have / 2 || (size != 0 && is_of_class()));
  }
  /// Requires: `page`, of a slab, is what the tables say of `block`.
  [[nodiscard]] ASHLAR_HOT static bool is_in_use(const cache_tops& tops, page_class page,
                                                 const void* block) noexcept {
    return tops.sign.is_in_use(tops.tables.mark_at(block, page.mark_shift), block);
  }
};

}  // namespace ashlar::detail
