// Tests of ChunkSizedAllocator.h, among them a program in the style of its document.
#include <climits>
#include <tests/support/shared_blocks.hpp>
#include <tests/support/single_step.hpp>
#include <tests/support/test_headers.hpp>
#include <tests/support/written_stats.hpp>

#include "ChunkSizedAllocator.h"

namespace {

using ashlar::is_aligned;
using ashlar::test::blocks_in_use;

template <std::size_t N>
struct dummy {
  char bytes[N] = {};
};

// ---- the document's program: three sizes, made and ended through type-erased functions ----

using made = std::pair<void*, std::function<void(void*)>>;

template <std::size_t N, class Chunks>
made make(Chunks& chunks) {
  return {new (chunks) dummy<N>{}, [&chunks](void* p) { ::operator delete(p, chunks); }};
}

TEST(ChunkSizedAllocator, the_documents_program_twice) {
  constexpr int count = 1000;
  ChunkSizedAllocator<count, 32, 62, 128> chunks;
  for (int round = 0; round < 2; ++round) {
    std::vector<made> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(make<30>(chunks));
      all.push_back(make<60>(chunks));
      all.push_back(make<100>(chunks));
    }
    for (const made& m : all) EXPECT_TRUE(chunks.owns(m.first)) << "also in the second round";
    void* const one_more = chunks.allocate(30);
    EXPECT_FALSE(chunks.owns(one_more)) << "all are in use: the heap's";
    std::memset(one_more, 1, 30);
    chunks.deallocate(one_more);
    for (const made& m : all) m.second(m.first);
  }
  for (const ashlar::pool_stats& c : chunks.stats().classes) {
    EXPECT_EQ(c.blocks_in_use, 0u);
    EXPECT_EQ(c.peak_in_use, static_cast<std::size_t>(count));
  }
  EXPECT_TRUE(chunks.audit());
}

TEST(ChunkSizedAllocator, the_documents_first_example_and_every_integral_type) {
  ChunkSizedAllocator<10, 20, 40, 80, 160> ints;
  ChunkSizedAllocator<10, 20u, 40l, 80ull> mixed;
  static_assert(!std::is_copy_constructible_v<decltype(ints)>);
  static_assert(!std::is_move_constructible_v<decltype(ints)>);
  void* const p = ints.allocate(160);
  EXPECT_TRUE(ints.owns(p));
  EXPECT_FALSE(mixed.owns(p));
  ints.deallocate(p);
}

TEST(ChunkSizedAllocator, the_bounded_one_never_asks_the_heap) {
  BoundedChunkSizedAllocator<2, 32, 64> chunks;
  void* held[4];
  for (void*& p : held) p = chunks.allocate(20);
  EXPECT_THROW((void)chunks.allocate(20), std::bad_alloc);
  EXPECT_THROW((void)chunks.allocate(65), std::bad_alloc);
  EXPECT_THROW((void)chunks.allocate(SIZE_MAX), std::bad_alloc);
  EXPECT_EQ(chunks.try_allocate(20), nullptr);
  for (void* p : held) chunks.deallocate(p);
  EXPECT_NO_THROW(chunks.deallocate(chunks.allocate(20)));
}

TEST(ChunkSizedAllocator, what_does_not_fit_is_operator_news) {
  const std::uint64_t before = blocks_in_use();
  ChunkSizedAllocator<1, 32> chunks;
  const std::uint64_t with_piece = blocks_in_use();
  void* const p = chunks.allocate(1'000);
  EXPECT_FALSE(chunks.owns(p));
  EXPECT_EQ(blocks_in_use(), with_piece) << "nothing of the process heap";
  EXPECT_LE(with_piece, before + 1);
  chunks.deallocate(p);
}

TEST(ChunkSizedAllocator, what_the_heap_has_not_either_is_the_new_handlers) {
  if (support::sanitized) GTEST_SKIP() << "a sanitizer's operator new ends the program";
  static int calls = 0;
  calls = 0;
  const std::new_handler before = std::set_new_handler([] {
    if (++calls == 2) std::set_new_handler(nullptr);
  });
  ChunkSizedAllocator<2, 32> chunks;
  EXPECT_THROW((void)chunks.allocate(SIZE_MAX / 2), std::bad_alloc);
  EXPECT_EQ(calls, 2);
  std::set_new_handler(before);
}

// ---- alignment ----

struct alignas(64) line {
  char bytes[64];
};
struct alignas(256) page {
  char bytes[256];
};

TEST(ChunkSizedAllocator, every_type_is_aligned) {
  ChunkSizedAllocator<20, 24, 64, 100, 256> chunks;
  const auto make = [&chunks]<class T>(T, bool of_chunks) {
    for (int i = 0; i < 30; ++i) {
      T* const p = new (chunks) T;
      EXPECT_TRUE(is_aligned(p, alignof(T)));
      if (i == 0) {
        EXPECT_EQ(chunks.owns(p), of_chunks);
      }
      if constexpr (alignof(T) > alignof(std::max_align_t))
        ::operator delete(p, std::align_val_t{alignof(T)}, chunks);
      else
        ::operator delete(p, chunks);
    }
  };
  make(line(), true);   // a size that is a multiple of 64 is aligned to 64
  make(page(), false);  // no class is aligned to 256: the heap's
  make(std::max_align_t(), true);
  make(dummy<97>(), true);
  EXPECT_TRUE(chunks.audit());
}

// ---- constructors that throw, and arrays ----

struct brittle {
  explicit brittle(bool fail) {
    if (fail) throw std::runtime_error("no");
  }
  alignas(32) char bytes[40];
};

TEST(ChunkSizedAllocator, a_throwing_constructor_gives_the_memory_back) {
  ChunkSizedAllocator<1, 32, 64> chunks;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(new (chunks) brittle(true), std::runtime_error);
    EXPECT_EQ(chunks.stats().classes[1].blocks_in_use, 0u);
  }
  brittle* const p = new (chunks) brittle(false);
  EXPECT_TRUE(chunks.owns(p));
  EXPECT_THROW(new (chunks) brittle(true), std::runtime_error) << "the heap's block, too";
  ::operator delete(p, chunks);
}

struct second_fails {
  second_fails() {
    if (++made == 2) throw std::runtime_error("no");
  }
  ~second_fails() { --made; }
  char bytes[16];
  static inline int made = 0;
};

TEST(ChunkSizedAllocator, arrays) {
  ChunkSizedAllocator<4, 32, 256> chunks;
  auto* const numbers = new (chunks) int[50];
  EXPECT_EQ(chunks.usable_size(numbers), 256u);
  numbers[49] = 1;
  ::operator delete[](numbers, chunks);
  auto* const lines = new (chunks) line[3];
  EXPECT_TRUE(is_aligned(lines, 64));
  ::operator delete[](lines, chunks);
  EXPECT_THROW(new (chunks) second_fails[3], std::runtime_error);
  for (const ashlar::pool_stats& c : chunks.stats().classes) EXPECT_EQ(c.blocks_in_use, 0u);
}

// ---- foreign addresses ----

#if ASHLAR_TEST_STEPS
template <std::size_t... I>
std::uint64_t steps_for_a_foreign_address(std::index_sequence<I...>) {
  const ChunkSizedAllocator<1, (I + 1) * 16 ...> chunks;
  static int elsewhere;
  const void* volatile p = &elsewhere;
  volatile bool mine = true;
  const std::uint64_t took = ashlar::test::instructions_of([&] { mine = chunks.owns(p); });
  EXPECT_FALSE(mine);
  return took;
}

TEST(ChunkSizedAllocator, whose_an_address_is_is_no_search_of_all_sizes) {
  if (support::sanitized) GTEST_SKIP() << "a sanitizer's checks are counted, not the search";
  ashlar::test::be_ready_to_step();
  EXPECT_LT(steps_for_a_foreign_address(std::make_index_sequence<48>()),
            3 * steps_for_a_foreign_address(std::make_index_sequence<2>()))
      << "for 24 times the sizes";
}
#endif

// ---- threads and misuse ----

TEST(ChunkSizedAllocator, any_number_of_threads) {
  ChunkSizedAllocator<10, 32, 64, 128> chunks;
  support::share_blocks(
      {.held_most = 20, .size_most = 150}, [&](std::size_t size) { return chunks.allocate(size); },
      [&](void* p, std::size_t) { chunks.deallocate(p); });
  EXPECT_TRUE(chunks.audit());
}

TEST(ChunkSizedAllocator, has_the_documents_helpers) {
  static_assert(make_array(10, 20, 40) == std::array<int, 3>{10, 20, 40});
  static_assert(is_sorted(make_array(10, 20, 40)) && !is_sorted(make_array(20, 10)));
  static_assert(is_power_of_two(1) && is_power_of_two(64u) && !is_power_of_two(0) &&
                !is_power_of_two(62) && !is_power_of_two(-64));
  static_assert(next_power_of_two(10) == 16 && next_power_of_two(32u) == 32u &&
                next_power_of_two(33LL) == 64 && next_power_of_two(0) == 1);
  static_assert(next_power_of_two(std::uint8_t{128}) == 128);
  EXPECT_THROW(next_power_of_two(std::uint8_t{129}), integral_value_too_big);
  EXPECT_THROW(next_power_of_two(INT_MAX), integral_value_too_big);
}

TEST(ChunkSizedAllocatorDeathTest, misuse_is_reported) {
  ChunkSizedAllocator<4, 32, 64> chunks;
  BoundedChunkSizedAllocator<4, 32, 64> bounded;
  int elsewhere = 0;
  EXPECT_DEATH(bounded.deallocate(&elsewhere), "ashlar: deallocate\\(0x.*not allocated here");
  auto* const p = static_cast<char*>(chunks.allocate(20));
  EXPECT_DEATH(chunks.deallocate(p + 16), "ashlar: deallocate\\(0x.*inside a block");
  EXPECT_DEATH(::operator delete(p + 16, chunks), "ashlar: delete\\(0x.*inside a block");
  EXPECT_DEATH(::operator delete[](p + 16, chunks), "ashlar: delete\\[\\]\\(0x.*inside a block");
  EXPECT_DEATH(::operator delete(&elsewhere, bounded), "ashlar: delete\\(0x.*not allocated here");
  EXPECT_DEATH(chunks.deallocate(p + 32), "no block is in use");
  chunks.deallocate(p);
  EXPECT_DEATH(chunks.deallocate(p), "ashlar: deallocate\\(0x.*double free");
  EXPECT_DEATH(::operator delete(p, chunks), "ashlar: delete\\(0x.*double free");
}

}  // namespace
