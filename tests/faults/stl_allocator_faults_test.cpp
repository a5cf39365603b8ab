// The known faults of the classic stl_allocator: each as a model that has it, and as a probe that tells
// the model from ours.
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <tests/support/sanitizers.hpp>
#include <type_traits>

#include <gtest/gtest.h>

#include "stl_allocator.h"

namespace {

struct record {
  char bytes[24];
};
struct alignas(64) line {
  char bytes[64];
};

// ---- n * sizeof(T) wraps --------------------------------------------------------------------------

template <class T>
struct wrapping_allocator {
  using value_type = T;
  T* allocate(std::size_t n) { return static_cast<T*>(std::malloc(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) noexcept { std::free(p); }
};

/// Whether a length that no memory can hold is refused, and by the exception of that name.
template <template <class> class Allocator>
bool refuses_lengths_that_wrap() {
  Allocator<record> a;
  // 24 * n == 8 modulo 2^64.
  constexpr std::size_t n = std::numeric_limits<std::size_t>::max() / 24 + 1;
  static_assert(n * sizeof(record) < 64);
  try {
    a.deallocate(a.allocate(n), n);
    return false;
  } catch (const std::bad_array_new_length&) {
    return true;
  }
}
TEST(StlAllocatorFaults, length_times_size_wraps_to_a_tiny_block) {
  EXPECT_FALSE(refuses_lengths_that_wrap<wrapping_allocator>());
  EXPECT_TRUE(refuses_lengths_that_wrap<stl_allocator>());
}

// ---- allocate_at_least comes from the base --------------------------------------------------------

template <class T>
struct inheriting_allocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = inheriting_allocator<U>;
  };
  T* allocate(std::size_t n) { return static_cast<T*>(std::malloc(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) noexcept { std::free(p); }
};

/// What is found in the base: std::allocator's own allocate_at_least where the library has one
/// (C++23; gcc 12's has none, so there the base itself is what is looked at).
template <template <class> class Allocator>
bool takes_all_memory_from_its_own_allocate() {
  if (std::is_base_of_v<std::allocator<int>, Allocator<int>>) return false;
#if defined(__cpp_lib_allocate_at_least)
  Allocator<int> a;
  const auto got = std::allocator_traits<Allocator<int>>::allocate_at_least(a, 5);
  // xfree ends the process on a block that is not xmalloc's.
  a.deallocate(got.ptr, got.count);
#endif
  return true;
}
TEST(StlAllocatorFaults, allocate_at_least_is_found_in_std_allocator) {
  EXPECT_FALSE(takes_all_memory_from_its_own_allocate<inheriting_allocator>());
  EXPECT_TRUE(takes_all_memory_from_its_own_allocate<stl_allocator>());
}

// ---- no memory is null ----------------------------------------------------------------------------

/// Whether no memory is reported as containers expect it: they write through what allocate returns.
template <template <class> class Allocator>
bool throws_when_there_is_no_memory() {
  Allocator<char> a;
  // Volatile, so that the compiler does not warn of what is the point here.
  volatile std::size_t too_much = std::numeric_limits<std::size_t>::max() / 2;
  const std::size_t n = too_much;
  try {
    char* const p = a.allocate(n);
    a.deallocate(p, n);
    return false;
  } catch (const std::bad_alloc&) {
    return true;
  }
}
TEST(StlAllocatorFaults, no_memory_is_a_null_that_containers_write_through) {
  if (support::sanitized) GTEST_SKIP() << "a sanitizer's malloc ends the program instead";
  EXPECT_FALSE(throws_when_there_is_no_memory<wrapping_allocator>());
  EXPECT_TRUE(throws_when_there_is_no_memory<stl_allocator>());
}

// ---- over-aligned types ---------------------------------------------------------------------------

/// 8 bytes in front of each block, as the classic xmalloc had them: the model's malloc is aligned to 16,
/// so that its blocks are at 8 modulo 16.
template <class T>
struct headed_allocator {
  using value_type = T;
  T* allocate(std::size_t n) {
    auto* const piece = static_cast<char*>(std::malloc(n * sizeof(T) + 8));
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(piece) + 8);
  }
  void deallocate(T* p, std::size_t) noexcept {
    std::free(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) - 8));
  }
};
template <template <class> class Allocator>
bool aligns_every_type() {
  Allocator<line> lines;
  Allocator<long double> wide;
  bool right = true;
  for (int i = 0; i < 20; ++i) {
    line* const a = lines.allocate(1);
    long double* const b = wide.allocate(1);
    right = right && reinterpret_cast<std::uintptr_t>(a) % alignof(line) == 0 &&
            reinterpret_cast<std::uintptr_t>(b) % alignof(long double) == 0;
    lines.deallocate(a, 1);
    wide.deallocate(b, 1);
  }
  return right;
}
TEST(StlAllocatorFaults, over_aligned_type_gets_a_misaligned_block) {
  EXPECT_FALSE(aligns_every_type<headed_allocator>());
  EXPECT_TRUE(aligns_every_type<stl_allocator>());
}

}  // namespace
