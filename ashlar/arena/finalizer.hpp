// arena/finalizer.hpp: how an arena remembers which destructors it owes.
// Layer: arena (freestanding). Not for users: arena_objects writes these.
//
//   block:  | finalizer | (array: count) | padding | object, or objects |
//           ^ the block's address                  ^ what create returned
//
// Law: a record is linked when its object is complete, so the newest record is that of the object
// completed last, and walking the list is destroying in reverse. Trivial types have no record.
#pragma once

#include <cstddef>
#include <type_traits>

#include <ashlar/core/bits.hpp>

namespace ashlar::detail {

/// What a block was asked for with, so that a borrowed one can go back.
struct block_extent {
  std::size_t size_bytes;
  std::size_t alignment;
};

/// The head of a block whose objects have destructors.
struct finalizer {
  finalizer* older;
  block_extent (*end)(finalizer*) noexcept;  ///< runs the destructors
};

/// The head of a block of several objects.
struct array_finalizer : finalizer {
  std::size_t count;
};

/// Where a T lies in its block, behind a `Head`; `Head` is void for a block without one.
template <class T, class Head>
struct object_place {
  static constexpr std::size_t alignment = alignof(T) > alignof(Head) ? alignof(T) : alignof(Head);
  static constexpr std::size_t offset = align_up(sizeof(Head), alignof(T));
};
template <class T>
struct object_place<T, void> {
  static constexpr std::size_t alignment = alignof(T);
  static constexpr std::size_t offset = 0;
};

/// Returns: false if no memory can hold `n` objects; else their block's size in `bytes`.
template <class T, class Head>
[[nodiscard]] constexpr bool bytes_for(std::size_t n, std::size_t& bytes) noexcept {
  return !__builtin_mul_overflow(n, sizeof(T), &bytes) &&
         !__builtin_add_overflow(bytes, object_place<T, Head>::offset, &bytes);
}

template <class T, class Head>
[[nodiscard]] void* place_behind(void* block) noexcept {
  return static_cast<std::byte*>(block) + object_place<T, Head>::offset;
}

/// Effects: destroys objects[0 ... n - 1], the last one first.
template <class T>
void destroy_backwards(T* objects, std::size_t n) noexcept {
  if constexpr (!std::is_trivially_destructible_v<T>) {
    while (n != 0) objects[--n].~T();
  }
}

template <class T>
block_extent end_object(finalizer* head) noexcept {
  destroy_backwards(static_cast<T*>(place_behind<T, finalizer>(head)), 1);
  return {object_place<T, finalizer>::offset + sizeof(T), object_place<T, finalizer>::alignment};
}
template <class T>
block_extent end_array(finalizer* head) noexcept {
  const std::size_t n = static_cast<array_finalizer*>(head)->count;
  destroy_backwards(static_cast<T*>(place_behind<T, array_finalizer>(head)), n);
  return {object_place<T, array_finalizer>::offset + n * sizeof(T),
          object_place<T, array_finalizer>::alignment};
}

}  // namespace ashlar::detail
