// xmalloc's rules over static pools and over pools that grow, as objects: what their macros define
// as functions. tests/xallocator has the functions themselves, in programs of their own.
#include <tests/support/shared_blocks.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/compat/xmalloc_pools.hpp>

#include "xallocator_heap_blocks.h"

namespace {

using ashlar::blocks;
using std::size_t;

std::uintptr_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }
volatile size_t huge = SIZE_MAX;

using small_pools =
    ashlar::static_xmalloc<blocks<16, 8>, blocks<64, 8>, blocks<396, 4>, blocks<768, 2>>;

// Both kinds are typed tests, since xmalloc's rules are the same over both.
template <class Pools>
class XmallocPools : public testing::Test {
 protected:
  Pools under_test;
};
using both =
    testing::Types<small_pools, ashlar::heap_blocks_xmalloc<blocks<16, 8>, blocks<64, 8>,
                                                            blocks<396, 4>, blocks<768, 2>>>;
TYPED_TEST_SUITE(XmallocPools, both);

TYPED_TEST(XmallocPools, EveryBlockIsAlignedForAnyObjectAndHoldsWhatWasAsked) {
  auto& pools = this->under_test;
  for (size_t size = 0; size <= 768; ++size) {
    void* const p = pools.allocate(size);
    ASSERT_NE(p, nullptr) << size;
    EXPECT_EQ(address_of(p) % 16, 0u) << size;
    EXPECT_GE(pools.usable_size(p), size);
    std::memset(p, 0xa5, pools.usable_size(p));
    pools.deallocate(p);
  }
  EXPECT_TRUE(pools.pools().audit());
}

TYPED_TEST(XmallocPools, ErrnoIsKeptBySuccessAndByNull) {
  errno = 1234;
  this->under_test.deallocate(this->under_test.allocate(10));
  this->under_test.deallocate(nullptr);
  EXPECT_EQ(this->under_test.usable_size(nullptr), 0u);
  EXPECT_EQ(this->under_test.reallocate(this->under_test.allocate(1), 0), nullptr);
  EXPECT_EQ(errno, 1234);
}

TYPED_TEST(XmallocPools, WhatNoMemoryHoldsIsNullAndEnomem) {
  for (size_t less = 0; less < 40; ++less) {
    errno = 0;
    EXPECT_EQ(this->under_test.allocate(huge - less), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  errno = 0;
  EXPECT_EQ(this->under_test.allocate_zeroed(huge / 2, 3), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  void* const p = this->under_test.allocate(5);
  errno = 0;
  EXPECT_EQ(this->under_test.reallocate(p, huge), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  this->under_test.deallocate(p);  // the block has stayed
}

TYPED_TEST(XmallocPools, ZeroedBlocksAreZeroedEachTime) {
  for (int round = 0; round < 3; ++round) {
    auto* const p = static_cast<unsigned char*>(this->under_test.allocate_zeroed(4, 16));
    ASSERT_NE(p, nullptr);
    for (size_t i = 0; i < 64; ++i) ASSERT_EQ(p[i], 0);
    std::memset(p, 0xff, 64);
    this->under_test.deallocate(p);
  }
}

TYPED_TEST(XmallocPools, AlignmentsThatAreNoneAreEinval) {
  for (const size_t alignment : {size_t{0}, size_t{3}, size_t{24}, huge + 0}) {
    errno = 0;
    EXPECT_EQ(this->under_test.allocate_aligned(alignment, 8), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  void* const p = this->under_test.allocate_aligned(4, 8);
  EXPECT_NE(p, nullptr);
  this->under_test.deallocate(p);
}

TYPED_TEST(XmallocPools, ReallocKeepsTheSmallerOfBothSizes) {
  auto& pools = this->under_test;
  for (const size_t from : {1u, 15u, 16u, 17u, 64u, 396u, 400u, 768u}) {
    for (const size_t to : {1u, 15u, 16u, 17u, 64u, 396u, 400u, 768u}) {
      auto* p = static_cast<unsigned char*>(pools.reallocate(nullptr, from));
      ASSERT_NE(p, nullptr);
      for (size_t i = 0; i < from; ++i) p[i] = static_cast<unsigned char>(i * 7 + from);
      p = static_cast<unsigned char*>(pools.reallocate(p, to));
      ASSERT_NE(p, nullptr);
      EXPECT_GE(pools.usable_size(p), to);
      for (size_t i = 0; i < std::min(from, to); ++i) {
        ASSERT_EQ(p[i], static_cast<unsigned char>(i * 7 + from)) << from << " -> " << to;
      }
      pools.deallocate(p);
    }
  }
  EXPECT_EQ(pools.pools().stats().blocks_in_use(), 0u);
}

TYPED_TEST(XmallocPools, ReallocStaysWhereItsClassIsRightAndLeavesALargerOne) {
  auto& pools = this->under_test;
  void* const p = pools.allocate(300);
  EXPECT_EQ(pools.reallocate(p, 396), p);
  EXPECT_EQ(pools.reallocate(p, 65), p);
  void* const q = pools.reallocate(p, 64);
  EXPECT_EQ(pools.usable_size(q), 64u);
  pools.deallocate(q);
}

TYPED_TEST(XmallocPools, ThreadsShareThem) {
  auto& pools = this->under_test;
  support::share_blocks(
      {.threads = 4}, [&](size_t size) { return pools.allocate(size); },
      [&](void* p, size_t) { pools.deallocate(p); });
  EXPECT_EQ(pools.pools().stats().blocks_in_use(), 0u);
  EXPECT_TRUE(pools.pools().audit());
}

TYPED_TEST(XmallocPools, MisuseIsAFault) {
  auto& pools = this->under_test;
  void* const p = pools.allocate(64);
  int on_stack = 0;
  static int in_static = 0;
  EXPECT_DEATH(pools.deallocate(&on_stack), "ashlar: xfree\\(0x.*not allocated here");
  EXPECT_DEATH(pools.deallocate(&in_static), "ashlar: xfree");
  EXPECT_DEATH(static_cast<void>(pools.reallocate(&in_static, 8)), "ashlar: xrealloc");
  EXPECT_DEATH(static_cast<void>(pools.usable_size(&in_static)), "ashlar: xusable_size");
  EXPECT_DEATH(pools.deallocate(static_cast<char*>(p) + 8), "ashlar: xfree\\(0x.*inside a block");
  EXPECT_DEATH((pools.deallocate(p), pools.deallocate(p)), "ashlar: xfree\\(0x.*double free");
  EXPECT_DEATH((pools.deallocate(p), pools.deallocate(p, "delete")),
               "ashlar: delete\\(0x.*double free");
  EXPECT_DEATH((pools.deallocate(p), static_cast<void>(pools.reallocate(p, 0))),
               "ashlar: xrealloc\\(0x.*double free");
  pools.deallocate(p);
}

// ---- static pools only --------------------------------------------------------------------------

TEST(StaticXmalloc, ALargerClassServesWhenOneIsEmptyAndThenNullAndEnomem) {
  small_pools pools;
  std::vector<void*> held;
  for (int i = 0; i < 6; ++i) held.push_back(pools.allocate(300));
  EXPECT_EQ(pools.usable_size(held[3]), 396u);
  EXPECT_EQ(pools.usable_size(held[4]), 768u);
  errno = 0;
  EXPECT_EQ(pools.allocate(300), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  // A block of 768 that could be of 396, which is empty: shrinking stays, and does not fail.
  EXPECT_EQ(pools.reallocate(held[4], 300), held[4]);
  for (void* p : held) pools.deallocate(p);
}

TEST(StaticXmalloc, AboveTheLargestClassIsNullAndTheHandlerIsNotAsked) {
  static int calls;
  calls = 0;
  static ashlar::static_xmalloc<blocks<64, 2>, ashlar::exhaustion::handler_and_retry<>> pools;
  const std::new_handler before = std::set_new_handler([] {
    if (++calls > 10) std::abort();
  });
  errno = 0;
  EXPECT_EQ(pools.allocate(65), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(pools.allocate_aligned(4096, 8), nullptr);
  EXPECT_EQ(calls, 0);
  std::set_new_handler(before);
}

TEST(StaticXmalloc, AHandlerIsAskedUntilItGivesUpOrThrows) {
  static ashlar::static_xmalloc<blocks<64, 2>, ashlar::exhaustion::handler_and_retry<>> pools;
  static int calls;
  calls = 0;
  void* const first = pools.allocate(1);
  void* const second = pools.allocate(1);
  const std::new_handler before = std::set_new_handler([] {
    if (++calls == 3) std::set_new_handler(nullptr);
  });
  errno = 0;
  EXPECT_EQ(pools.allocate(1), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(calls, 3);
  std::set_new_handler([] { throw 42; });
  EXPECT_EQ(pools.allocate(1), nullptr);
  static void* spare;
  spare = second;
  std::set_new_handler([] { pools.deallocate(std::exchange(spare, nullptr)); });
  EXPECT_EQ(pools.allocate(1), second) << "no lock is held, not even after a throw";
  std::set_new_handler(before);
  pools.deallocate(first);
  pools.deallocate(second);
}

TEST(StaticXmalloc, MayHaveMoreThanFifteenSizes) {
  static ashlar::static_xmalloc<blocks<16, 1>, blocks<32, 1>, blocks<48, 1>, blocks<64, 1>,
                                blocks<80, 1>, blocks<96, 1>, blocks<112, 1>, blocks<128, 1>,
                                blocks<144, 1>, blocks<160, 1>, blocks<176, 1>, blocks<192, 1>,
                                blocks<208, 1>, blocks<224, 1>, blocks<240, 1>, blocks<256, 1>,
                                blocks<272, 1>>
      pools;
  for (size_t size = 16; size <= 272; size += 16) {
    void* const p = pools.allocate(size);
    ASSERT_NE(p, nullptr) << size;
    EXPECT_EQ(pools.usable_size(p), size);
  }
}

template <class... Blocks>
constexpr bool takes_what_its_blocks_take(size_t bytes) {
  constexpr size_t all = sizeof(ashlar::static_xmalloc<Blocks...>);
  return all >= bytes && all <= bytes + bytes / 5;
}
static_assert(takes_what_its_blocks_take<blocks<396, 32>>(396 * 32));
static_assert(takes_what_its_blocks_take<blocks<396, 20>, blocks<768, 10>, blocks<4096, 32>>(
    20 * 396 + 10 * 768 + 32 * 4096));

TEST(StaticXmalloc, OverAlignedRequestsGoToAClassThatIsSoAligned) {
  static ashlar::static_xmalloc<blocks<64, 2>, blocks<256, 2, 128>> pools;
  void* const p = pools.allocate_aligned(128, 10);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(address_of(p) % 128, 0u);
  EXPECT_EQ(pools.usable_size(p), 256u);
  pools.deallocate(p);
}

// ---- pools that grow only -----------------------------------------------------------------------

TEST(HeapBlocksXmalloc, WhatNoClassFitsIsTheProcessHeaps) {
  static ashlar::heap_blocks_xmalloc<blocks<64, 4>> pools;
  auto* p = static_cast<char*>(pools.allocate(100'000));
  ASSERT_NE(p, nullptr);
  std::memset(p, 'x', 100'000);
  p = static_cast<char*>(pools.reallocate(p, 500'000));
  EXPECT_EQ(p[99'999], 'x');
  p = static_cast<char*>(pools.reallocate(p, 60));
  EXPECT_EQ(pools.usable_size(p), 64u);
  EXPECT_EQ(p[59], 'x');
  p = static_cast<char*>(pools.reallocate(p, 65));
  EXPECT_EQ(p[59], 'x');
  pools.deallocate(p);
  void* const aligned = pools.allocate_aligned(4096, 8);
  EXPECT_EQ(address_of(aligned) % 4096, 0u);
  pools.deallocate(aligned);
  EXPECT_EQ(pools.pools().stats().blocks_in_use(), 0u);
}

/// Gives only pieces for one block, so that each block is a slab.
struct small_pieces {
  static inline int pieces = 0;
  static void* allocate(size_t size, size_t alignment) noexcept {
    if (size > 200) return nullptr;
    ++pieces;
    return ashlar::process_source::allocate(size, alignment);
  }
  static void deallocate(void* p, size_t size, size_t alignment) noexcept {
    --pieces;
    ashlar::process_source::deallocate(p, size, alignment);
  }
};

TEST(GrowingPoolSet, MoreSlabsThanItCanListIsExhaustionAndAllGoBack) {
  {
    ashlar::growing_pool_set<blocks<96, 1>, small_pieces> set;
    int count = 0;
    while (set.try_allocate(96) != nullptr) ++count;
    EXPECT_EQ(count, 32);
    EXPECT_EQ(small_pieces::pieces, 32);
    EXPECT_TRUE(set.audit());
  }
  EXPECT_EQ(small_pieces::pieces, 0);
}

TEST(GrowingPoolSet, SizedDeallocationIsVerified) {
  ashlar::growing_pool_set<blocks<32, 4>, blocks<64, 4>, ashlar::process_source> set;
  void* const p = set.allocate(40);
  set.deallocate(nullptr, 40);
  EXPECT_DEATH(set.deallocate(p, 20), "size or alignment");
  EXPECT_DEATH(set.deallocate(&set, 20), "not allocated here");
  EXPECT_DEATH(static_cast<void>(set.try_allocate(8, 3)), "argument");
  set.deallocate(p, 40);
}

// ---- the report ---------------------------------------------------------------------------------

TEST(XmallocPoolsStats, AreTheClassicLines) {
  small_pools pools;
  void* const p = pools.allocate(390);
  testing::internal::CaptureStdout();
  pools.write_stats();
  std::fflush(stdout);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("xallocator Block Size: 396 Block Count: 1 Blocks In Use: 1\n"
                      "xallocator Block Size: 768 Block Count: 0 Blocks In Use: 0\n"),
            std::string::npos)
      << text;
  pools.deallocate(p);
}

}  // namespace
