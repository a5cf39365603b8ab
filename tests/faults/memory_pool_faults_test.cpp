// The known faults of the SGI-style pool and of the allocator over it. Each test: a model of ours
// that has the fault, and a probe that is false on the model and true on memory_pool_allocator.h or
// the engine under it.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <tests/support/sanitizers.hpp>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/os/mutex.hpp>
#include <ashlar/pool/refill_lists.hpp>

#include "memory_pool_allocator.h"

namespace {

/// An engine of ours as the probes see it.
template <class Source, class... Policies>
struct engine {
  explicit engine(Source s) : lists(s) {}
  void* allocate(std::size_t n) { return lists.try_allocate(n, 1); }
  void deallocate(void* p, std::size_t n) { lists.deallocate(p, n, 1); }
  ashlar::refill_lists<Source, 128, 8, Policies...> lists;
};

// ---- never thread-safe --------------------------------------------------------------------------

/// Notes whether two callers are inside it at once. The first one waits for a second, for a while.
struct meeting_point {
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
};
struct meeting_source {
  meeting_point* point;
  void* allocate(std::size_t n, std::size_t) noexcept {
    if (++point->inside == 2) point->met = true;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (!point->met && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    --point->inside;
    return std::malloc(n);
  }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { std::free(p); }
};

/// Asks its source in the middle of an operation, and has no lock.
struct unlocked_pool {
  explicit unlocked_pool(meeting_source s) : source(s) {}
  void* allocate(std::size_t n) { return source.allocate(n, 16); }
  void deallocate(void* p, std::size_t n) { source.deallocate(p, n, 16); }
  meeting_source source;
};

template <class Pool>
bool lets_one_caller_in_at_a_time() {
  meeting_point point;
  Pool pool(meeting_source{&point});
  const auto call = [&pool] { pool.deallocate(pool.allocate(8), 8); };
  std::thread other(call);
  call();
  other.join();
  return !point.met;
}

TEST(MemoryPoolFaults, it_was_never_thread_safe) {
  EXPECT_FALSE(lets_one_caller_in_at_a_time<unlocked_pool>());
  EXPECT_TRUE((lets_one_caller_in_at_a_time<engine<meeting_source, ashlar::os::mutex>>()));
  static_assert(
      std::is_same_v<ashlar::compat::shared_refill_lists<128, 8>::lock_type, ashlar::os::mutex>,
      "and Allocator<T> has that lock");
}

// ---- left-overs under the wrong list ------------------------------------------------------------

/// One piece, of any size.
struct one_piece {
  std::byte* bytes;
  std::size_t size;
  void* allocate(std::size_t n, std::size_t) noexcept {
    if (n > size) return nullptr;
    size = 0;
    return bytes;
  }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
};

/// Blocks of 40 from the front of the piece; what is left is filed under its size rounded *up*.
struct rounds_left_overs_up {
  explicit rounds_left_overs_up(one_piece s) : at(s.bytes), left(s.size) {}
  void* allocate(std::size_t n) {
    if (n == 40 && left >= 40) {
      left -= 40;
      return at += 40, at - 40;
    }
    const std::size_t list = (left + 7) / 8 * 8;
    if (left == 0 || n > list) return nullptr;
    left = 0;
    return at;
  }
  void deallocate(void*, std::size_t) {}
  std::byte* at;
  std::size_t left;
};

template <class Pool>
bool keeps_within_its_piece(std::size_t piece_bytes) {
  alignas(16) static std::byte memory[1024];
  Pool pool(one_piece{memory, piece_bytes});
  bool within = true;
  for (const std::size_t n : {40u, 24u, 16u, 8u}) {
    while (void* const p = pool.allocate(n)) {
      within = within && static_cast<std::byte*>(p) + n <= memory + piece_bytes;
    }
  }
  return within;
}

TEST(MemoryPoolFaults, a_left_over_that_is_no_multiple_of_8_is_filed_under_a_larger_list) {
  EXPECT_FALSE(keeps_within_its_piece<rounds_left_overs_up>(3 * 40 + 20));
  for (std::size_t piece = 60; piece < 400; ++piece) {
    EXPECT_TRUE(keeps_within_its_piece<engine<one_piece>>(piece)) << piece;
  }
}

// ---- out of memory ------------------------------------------------------------------------------

/// A list for each multiple of 8 up to 128; the search for a larger block ends before the last.
struct skips_the_last_list {
  explicit skips_the_last_list(one_piece s) : source(s) {}
  void* allocate(std::size_t n) {
    if (void* const fresh = source.allocate(n, 16)) return fresh;
    for (std::size_t size = n; size < 128; size += 8) {
      if (free_block[size / 8] != nullptr) return free_block[size / 8];
    }
    return nullptr;
  }
  void deallocate(void* p, std::size_t n) { free_block[n / 8] = p; }
  one_piece source;
  void* free_block[17] = {};
};

template <class Pool>
bool finds_the_only_free_block(std::size_t wanted) {
  alignas(16) static std::byte memory[128 + 16];
  Pool pool(one_piece{memory, sizeof memory});
  pool.deallocate(pool.allocate(128), 128);
  return pool.allocate(wanted) != nullptr;
}

TEST(MemoryPoolFaults, out_of_memory_the_search_skips_lists) {
  for (std::size_t wanted = 8; wanted < 128; wanted += 8) {
    EXPECT_FALSE(finds_the_only_free_block<skips_the_last_list>(wanted)) << wanted;
    EXPECT_TRUE(finds_the_only_free_block<engine<one_piece>>(wanted)) << wanted;
  }
}

// ---- the allocator ------------------------------------------------------------------------------

/// Multiplies, and returns what malloc says.
struct plain_malloc {
  using value_type = std::uint64_t;
  std::uint64_t* allocate(std::size_t n) {
    // Through volatile, so that no compiler sees what the product must come to.
    volatile std::size_t bytes = n * sizeof(std::uint64_t);
    return static_cast<std::uint64_t*>(std::malloc(bytes));
  }
  void deallocate(std::uint64_t* p, std::size_t) { std::free(p); }
};

/// Whether a request that cannot be served ends in bad_alloc (or what derives from it).
template <class A>
bool throws_when_it_cannot(std::size_t n) {
  A allocator;
  try {
    std::uint64_t* const p = allocator.allocate(n);
    if (p != nullptr) allocator.deallocate(p, n);
    return false;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

TEST(MemoryPoolFaults, containers_are_given_null) {
  if (support::sanitized) GTEST_SKIP() << "a sanitizer's malloc ends the program instead";
  constexpr std::size_t most = PTRDIFF_MAX / sizeof(std::uint64_t);
  EXPECT_FALSE(throws_when_it_cannot<plain_malloc>(most));
  EXPECT_TRUE(throws_when_it_cannot<Allocator<std::uint64_t>>(most));
}

TEST(MemoryPoolFaults, count_times_size_wraps) {
  constexpr std::size_t wraps_to_8 = SIZE_MAX / sizeof(std::uint64_t) + 2;
  EXPECT_FALSE(throws_when_it_cannot<plain_malloc>(wraps_to_8));
  EXPECT_TRUE(throws_when_it_cannot<Allocator<std::uint64_t>>(wraps_to_8));
}

}  // namespace
