// ChunkSizedAllocator.h: the classic chunked pool: N blocks of each of several sizes.
// Layer: compat. Forwards to pool/pool_set.hpp.
//
//   ChunkSizedAllocator<1000, 32, 62, 128> chunks;         what does not fit is ::operator new's
//   BoundedChunkSizedAllocator<1000, 32, 62, 128> chunks;  what does not fit is std::bad_alloc
//   T* p = new (chunks) T(...);    p->~T(); ::operator delete(p, chunks);
//
// As in the classic: sizes ascend (a compile error if not), a request takes the smallest size that
// fits, or a larger one when that has no block left; any number of threads.
// Unlike it:
//   - Of two equal sizes the second has a byte more.
//   - Freed blocks are used again.
//   - A request of exactly a size uses that size.
//   - Sizes are not rounded up to powers of two, only to the alignment: 62 takes 64 bytes, 100
//     takes 112. Each is at least the alignment of std::max_align_t.
//   - Any alignment is right: a class whose size is a multiple of 32 or 64 is aligned to that, and
//     what no class is aligned enough for comes from ::operator new (or is std::bad_alloc).
//   - All memory is one piece: it is there or the constructor throws, and nothing leaks.
//   - An address tells its class by O(log sizes) compares, not by a search through all of them;
//     misuse ends in ashlar_fault.
#pragma once

#if __cplusplus < 202002L
#error "ChunkSizedAllocator.h needs C++20: compile with -std=c++20"
#include "-std=c++20"  // is not there: the compiler stops, and that sentence is its last
#endif

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include <ashlar/adapt/process_source.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/pool/blocks.hpp>
#include <ashlar/pool/pool_set.hpp>

namespace ashlar::compat {

/// Exhaustion policy: a block of ::operator new, the program's own if it has one.
struct overflow_to_operator_new {
  using policy_kind = exhaustion_kind;
  static constexpr bool nothrow = false;
  static constexpr bool may_return_null = false;
  static constexpr bool borrows = true;

  template <class Retry>
  void* exhausted(const exhaustion_request& request, Retry&&) {
    if (request.alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__)
      return ::operator new(request.size_bytes);
    return ::operator new(request.size_bytes, std::align_val_t{request.alignment});
  }
  static void give_back(void* p) noexcept { ::operator delete(p); }
  static void give_back(void* p, const exhaustion_request& request) noexcept {
    if (request.alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return give_back(p);
    ::operator delete(p, std::align_val_t{request.alignment});
  }
};

/// Returns: what a size of the classic's template arguments means in bytes; 0 for a negative one.
[[nodiscard]] constexpr std::size_t chunk_bytes(std::integral auto size) noexcept {
  return std::cmp_less(size, 0) ? 0 : static_cast<std::size_t>(size);
}
/// Returns: the largest alignment, of those a cache line has use for, that costs no byte.
[[nodiscard]] constexpr std::size_t chunk_alignment(std::size_t bytes) noexcept {
  return std::max(alignof(std::max_align_t), std::min<std::size_t>(bytes & (~bytes + 1), 64));
}

/// The sizes in bytes, each there once: the second of two equal ones has a byte more.
template <auto... Sz>
inline constexpr auto chunk_sizes = [] {
  constexpr std::size_t given[] = {chunk_bytes(Sz)...};
  std::array<std::size_t, sizeof...(Sz)> sizes{chunk_bytes(Sz)...};
  for (std::size_t i = 1; i < sizes.size(); ++i)
    if (given[i] >= given[i - 1]) sizes[i] = std::max(given[i], sizes[i - 1] + 1);
  return sizes;
}();

template <class Overflow, int N, class Indices, auto... Sz>
struct chunk_set_of;
template <class Overflow, int N, std::size_t... I, auto... Sz>
struct chunk_set_of<Overflow, N, std::index_sequence<I...>, Sz...> {
  using type = pool_set<blocks<chunk_sizes<Sz...>[I], static_cast<std::size_t>(N),
                               chunk_alignment(chunk_sizes<Sz...>[I])>...,
                        process_source, os::mutex, Overflow>;
};
template <class Overflow, int N, auto... Sz>
using chunk_set =
    typename chunk_set_of<Overflow, N, std::make_index_sequence<sizeof...(Sz)>, Sz...>::type;

/// What both classes below are. From pool_set: allocate(size), allocate(size, alignment),
/// try_allocate, deallocate(p), owns, usable_size, stats, audit, by any thread.
template <class Overflow, int N, auto... Sz>
class chunk_sized : public chunk_set<Overflow, N, Sz...> {
  static_assert(sizeof...(Sz) > 0, "at least one size");
  static_assert(N > 0, "at least one block of each size");
  static_assert(((chunk_bytes(Sz) >= alignof(std::max_align_t)) && ...),
                "a size is at least the alignment of std::max_align_t");

 public:
  /// Effects: memory for N blocks of each size, in one piece; no block is written. Throws:
  /// std::bad_alloc when there is none.
  chunk_sized() {
    if (!this->has_memory()) {
      ASHLAR_THROW(std::bad_alloc());
      if constexpr (!has_exceptions) {
        ashlar_fault({fault_kind::exhausted, "ChunkSizedAllocator", nullptr,
                      chunk_set<Overflow, N, Sz...>::piece_bytes});
      }
    }
  }
  chunk_sized(const chunk_sized&) = delete;
  /// As pool_set's. A program may ignore the result, as it may of the classic's.
  void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
    return chunk_set<Overflow, N, Sz...>::allocate(size, alignment);
  }
  /// As deallocate_as, of a block that may be an over-aligned one of ::operator new.
  template <class Call>
  void deallocate_aligned(void* p, std::align_val_t alignment, Call call) noexcept {
    if constexpr (Overflow::borrows) {
      if (p != nullptr && !this->try_deallocate_as(p, call))
        Overflow::give_back(p, {0, static_cast<std::size_t>(alignment), nullptr});
    } else {
      this->deallocate_as(p, call);
    }
  }
  chunk_sized& operator=(const chunk_sized&) = delete;
  ~chunk_sized() = default;
};

}  // namespace ashlar::compat

// ---- the document's helpers, by its names
// ------------------------------------------------------------

/// Returns: the arguments as an array. All have one type.
template <class T, std::same_as<T>... Ts>
constexpr std::array<T, sizeof...(Ts) + 1> make_array(T first, Ts... others) {
  return {first, others...};
}
/// Returns: whether `n` is 1, 2, 4, ...
constexpr bool is_power_of_two(std::integral auto n) { return n > 0 && (n & (n - 1)) == 0; }
/// Thrown by next_power_of_two; at compile time it is an error that names this class.
class integral_value_too_big {};
/// Returns: the smallest power of two that is not below `n`. Throws: integral_value_too_big where
/// its type has none. O(bits).
constexpr auto next_power_of_two(std::integral auto n) {
  decltype(n) power = 1;
  while (power < n) {
    if (power > std::numeric_limits<decltype(n)>::max() / 2) {
      ASHLAR_THROW(integral_value_too_big{});
      if constexpr (!ashlar::has_exceptions) {
        ashlar_fault({ashlar::fault_kind::bad_argument, "next_power_of_two"});
      }
    }
    power = static_cast<decltype(n)>(power * 2);
  }
  return power;
}
/// Returns: whether the elements ascend.
template <class Range>
constexpr bool is_sorted(const Range& range) {
  return std::is_sorted(std::begin(range), std::end(range));
}

// ---- the allocators
// ----------------------------------------------------------------------------------

template <int N, auto... Sz>
class ChunkSizedAllocator
    : public ashlar::compat::chunk_sized<ashlar::compat::overflow_to_operator_new, N, Sz...> {};

template <int N, auto... Sz>
class BoundedChunkSizedAllocator
    : public ashlar::compat::chunk_sized<ashlar::exhaustion::throw_bad_alloc, N, Sz...> {};

// new (chunks) T, new (chunks) T[n]: an over-aligned T is as right as any other, and a throwing
// constructor gives the memory back. An object ends by its destructor and ::operator delete(p,
// chunks), one that is over-aligned by ::operator delete(p, std::align_val_t{alignof(T)}, chunks);
// an array of a type with a destructor cannot: its address is not that of its block (the language
// puts the length there). Always inlined: gcc 12 takes a template's operator new and operator
// delete for a mismatched pair, and warns at the user's new-expression.

template <class Overflow, int N, auto... Sz>
ASHLAR_HOT void* operator new(std::size_t size,
                              ashlar::compat::chunk_sized<Overflow, N, Sz...>& chunks) {
  return chunks.allocate(size);
}
template <class Overflow, int N, auto... Sz>
ASHLAR_HOT void* operator new(std::size_t size, std::align_val_t alignment,
                              ashlar::compat::chunk_sized<Overflow, N, Sz...>& chunks) {
  return chunks.allocate(size, static_cast<std::size_t>(alignment));
}
template <class Overflow, int N, auto... Sz>
ASHLAR_HOT void* operator new[](std::size_t size,
                                ashlar::compat::chunk_sized<Overflow, N, Sz...>& chunks) {
  return chunks.allocate(size);
}
template <class Overflow, int N, auto... Sz>
ASHLAR_HOT void* operator new[](std::size_t size, std::align_val_t alignment,
                                ashlar::compat::chunk_sized<Overflow, N, Sz...>& chunks) {
  return chunks.allocate(size, static_cast<std::size_t>(alignment));
}
template <class Overflow, int N, auto... Sz>
ASHLAR_HOT void operator delete(void* p,
                                ashlar::compat::chunk_sized<Overflow, N, Sz...>& chunks) noexcept {
  chunks.deallocate_as(p, ashlar::call_name<"delete">{});
}
template <class Overflow, int N, auto... Sz>
ASHLAR_HOT void operator delete(void* p, std::align_val_t alignment,
                                ashlar::compat::chunk_sized<Overflow, N, Sz...>& chunks) noexcept {
  chunks.deallocate_aligned(p, alignment, ashlar::call_name<"delete">{});
}
template <class Overflow, int N, auto... Sz>
ASHLAR_HOT void operator delete[](
    void* p, ashlar::compat::chunk_sized<Overflow, N, Sz...>& chunks) noexcept {
  chunks.deallocate_as(p, ashlar::call_name<"delete[]">{});
}
template <class Overflow, int N, auto... Sz>
ASHLAR_HOT void operator delete[](
    void* p, std::align_val_t alignment,
    ashlar::compat::chunk_sized<Overflow, N, Sz...>& chunks) noexcept {
  chunks.deallocate_aligned(p, alignment, ashlar::call_name<"delete[]">{});
}
