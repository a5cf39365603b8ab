// The C face: what the C standard and POSIX say of each function.

#include <tests/support/test_headers.hpp>

#include <ashlar/ashlar.h>

namespace {

// Sizes that a compiler must not reason about.
volatile std::size_t too_much = SIZE_MAX;

TEST(XMalloc, ZeroBytesAreABlockOfTheirOwn) {
  std::set<void*> blocks;
  for (int i = 0; i < 1000; ++i) {
    void* block = xmalloc(0);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(blocks.insert(block).second);
  }
  for (void* block : blocks) xfree(block);
}

TEST(XMalloc, TooMuchIsNullAndEnomem) {
  for (const std::size_t size : {too_much + 0, too_much - 15, too_much - 16, too_much - 4096,
                                 too_much / 2 + 1, too_much / 2, too_much / 4096}) {
    const auto refuses = [size](void* block) {
      EXPECT_EQ(block, nullptr) << size;
      EXPECT_EQ(std::exchange(errno, 0), ENOMEM) << size;
    };
    errno = 0;
    refuses(xmalloc(size));
    refuses(xcalloc(1, size));
    refuses(xrealloc(nullptr, size));
    for (const std::size_t alignment : {16u, 4096u, 2u << 20})
      refuses(xaligned_alloc(alignment, size));
  }
}

TEST(XMalloc, SuccessAndXFreeKeepErrnoAndNullIsFreed) {
  errno = 1234;
  std::vector<void*> blocks(5000);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = xmalloc(i % 50 == 0 ? 60'000 : 300);
  for (const std::size_t size : {0u, 8u, 100'000u, 3u << 20, 64u << 20})
    blocks.push_back(xmalloc(size));
  for (void* block : blocks) xfree(block);
  xfree(nullptr);
  EXPECT_EQ(errno, 1234);
}

TEST(XCalloc, IsZeroAlsoWhereOldBytesWere) {
  for (const std::size_t size :
       {1u, 30u, 1000u, 32'000u, 50'000u, 131'072u, 200'001u, 2'000'000u, 9u << 20}) {
    for (int round = 0; round < 4; ++round) {
      if (round == 2) ashlar_trim();
      auto* p = static_cast<unsigned char*>(xcalloc(size, 1));
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(std::all_of(p, p + size, [](unsigned char c) { return c == 0; })) << size;
      std::memset(p, 0xff, size);
      xfree(p);
    }
  }
}

TEST(XCalloc, ClearsEverySmallSizeAndNoNeighbour) {
  constexpr std::size_t blocks = 3;
  for (std::size_t size = 0; size <= 600; ++size) {
    unsigned char* block[blocks];
    for (auto& p : block) {
      p = static_cast<unsigned char*>(xmalloc(size));
      std::memset(p, 0xff, xusable_size(p));
    }
    for (auto& p : block) {
      xfree(p);
      auto* const zeros = static_cast<unsigned char*>(xcalloc(1, size));
      ASSERT_EQ(zeros, p) << "the block that was freed last";
      ASSERT_TRUE(std::all_of(p, p + size, [](unsigned char c) { return c == 0; })) << size;
      std::memset(p, 0xff, xusable_size(p));
      for (const auto* const other : block)
        ASSERT_TRUE(std::all_of(other, other + xusable_size(const_cast<unsigned char*>(other)),
                                [](unsigned char c) { return c == 0xff; }))
            << size;
    }
    for (auto* const p : block) xfree(p);
  }
}

TEST(XCalloc, ZeroCountsAndOverflow) {
  void* a = xcalloc(0, 100);
  void* b = xcalloc(100, 0);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(b, nullptr);
  EXPECT_NE(a, b);
  xfree(a);
  xfree(b);
  for (const auto& [count, size] : {std::pair{too_much + 0, std::size_t{2}},
                                    {too_much / 2 + 1, std::size_t{2}},
                                    {std::size_t{1} << 32, std::size_t{1} << 32},
                                    {too_much / 16 + 1, std::size_t{16}},
                                    {too_much + 0, too_much + 0},
                                    {too_much / 2, std::size_t{2}}}) {
    errno = 0;
    EXPECT_EQ(xcalloc(count, size), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
}

TEST(XRealloc, FollowsTheRulesOfNullAndZero) {
  auto* p = static_cast<char*>(xrealloc(nullptr, 100));
  ASSERT_NE(p, nullptr);
  EXPECT_GE(xusable_size(p), 100u);
  ashlar_stats before, after;
  ashlar_stats_get(&before);
  errno = 1234;
  EXPECT_EQ(xrealloc(p, 0), nullptr);
  EXPECT_EQ(errno, 1234) << "a block that was freed is no failure";
  ashlar_stats_get(&after);
  EXPECT_EQ(after.total.bytes_in_use + 112, before.total.bytes_in_use);
  void* q = xrealloc(nullptr, 0);
  EXPECT_NE(q, nullptr);
  EXPECT_EQ(xrealloc(q, 0), nullptr) << "though a block of 0 bytes has this class";
}

TEST(XRealloc, KeepsContentsAndTheOldBlockOnFailure) {
  auto* p = static_cast<char*>(xmalloc(10));
  std::memcpy(p, "123456789", 10);
  for (const std::size_t size : {20u, 40'000u, 1'000'000u, 50'000u, 100u, 10u}) {
    p = static_cast<char*>(xrealloc(p, size));
    ASSERT_NE(p, nullptr);
    ASSERT_EQ(std::memcmp(p, "123456789", 10), 0) << size;
  }
  for (const std::size_t size : {10u, 5000u, 40'000u, 20u << 20}) {
    p = static_cast<char*>(xrealloc(p, size));
    ASSERT_NE(p, nullptr);
    for (const std::size_t huge : {too_much + 0, too_much / 2}) {
      errno = 0;
      EXPECT_EQ(xrealloc(p, huge), nullptr) << size;
      EXPECT_EQ(errno, ENOMEM) << size;
    }
    EXPECT_GE(xusable_size(p), size);
    EXPECT_EQ(std::memcmp(p, "123456789", 10), 0) << size;
  }
  xfree(p);
}

TEST(XRealloc, StaysInPlaceWhereTheClassAllows) {
  void* p = xmalloc(100);  // a block of 112
  EXPECT_EQ(xrealloc(p, 112), p);
  EXPECT_EQ(xrealloc(p, 97), p);
  EXPECT_EQ(xrealloc(p, 60), p) << "more than half is used";
  void* small = xrealloc(p, 20);
  EXPECT_NE(small, p) << "would waste most of it";
  xfree(small);
}

TEST(XAlignedAlloc, AlignsOrSaysWhyNot) {
  for (std::size_t alignment = 1; alignment <= 4 << 20; alignment *= 2) {
    for (const std::size_t size : {0u, 1u, 100u, 4096u, 40'000u}) {
      // A hit finds blocks of any alignment that the size's class has.
      std::array<void*, 8> plain{};
      for (void*& each : plain) each = xmalloc(size);
      for (void* const each : plain) xfree(each);
      void* block = xaligned_alloc(alignment, size);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
      EXPECT_GE(xusable_size(block), size);
      std::memset(block, 1, size);
      xfree(block);
    }
  }
  for (const std::size_t alignment :
       {std::size_t{0}, std::size_t{3}, std::size_t{24}, std::size_t{4095}, SIZE_MAX}) {
    errno = 0;
    EXPECT_EQ(xaligned_alloc(alignment, 100), nullptr);
    EXPECT_EQ(errno, EINVAL) << alignment;
  }
  errno = 0;
  EXPECT_EQ(xaligned_alloc(64, too_much), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(xaligned_alloc(std::size_t{1} << 62, 1), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(XUsableSize, OfNullIsZero) { EXPECT_EQ(xusable_size(nullptr), 0u); }

TEST(XAlloc, ClassicLifetimeCallsEndNothing) {
  xalloc_init();
  void* block = xmalloc(40);
  xalloc_destroy();
  std::memset(block, 1, 40);
  xfree(block);
  xfree(xmalloc(40));
}

TEST(AshlarTrim, GivesBackWhatIsFree) {
  constexpr std::size_t size = 8 << 20;
  void* block = xmalloc(size);
  std::memset(block, 1, size);
  xfree(block);
  EXPECT_GE(ashlar_trim(), size);
  EXPECT_EQ(ashlar_trim(), 0u);
}

TEST(CApi, PurgePolicyIsObeyed) {
  const auto given_back = [] {
    ashlar_stats stats;
    ashlar_stats_get(&stats);
    return stats.total.given_back_bytes;
  };
  const auto use_and_wait = [] {
    void* block = xmalloc(8 << 20);
    std::memset(block, 1, 8 << 20);
    xfree(block);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    xfree(xmalloc(200'000));  // somebody has to look
  };
  ashlar_trim();
  const auto before = given_back();
  ashlar_set_purge(0, std::size_t{1} << 40);
  use_and_wait();
  EXPECT_EQ(given_back(), before) << "more is allowed to stay than there is";
  ashlar_set_purge(-1, 0);
  use_and_wait();
  EXPECT_EQ(given_back(), before) << "nothing goes back by itself";
  ashlar_set_purge(0, 0);
  use_and_wait();
  EXPECT_GE(given_back(), before + (8 << 20));
  ashlar_set_purge(1000, 0);
}

}  // namespace
