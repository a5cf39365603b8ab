// Misuses of fixed pools: what each check finds, and what the audit does.
#include <initializer_list>
#include <tests/support/fixed_pools.hpp>
#include <tests/support/test_headers.hpp>

namespace {

using namespace ashlar;
using namespace support;

template <class Setup>
class CheckedPoolDeathTest : public testing::Test {};
using checked = support::types<
    testing::Types<on_storage<check::full<3>>, on_storage<lock_free<>>, on_slabs<>>,
    testing::Types<on_storage<check::cheap>, on_storage<std::mutex>, on_one_piece<>>>;
TYPED_TEST_SUITE(CheckedPoolDeathTest, checked);

TYPED_TEST(CheckedPoolDeathTest, SeesWhatMustNotBeFreed) {
  TypeParam setup({24, 8}, 10), other({24, 8}, 10);
  auto& pool = setup.pool;
  auto* const a = static_cast<std::byte*>(pool.allocate());
  auto* const b = static_cast<std::byte*>(pool.allocate());
  void* const c = other.pool.allocate();
  int outside = 0;
  EXPECT_DEATH(pool.deallocate(opaque(&outside)), "not allocated here.*block size 24");
  EXPECT_DEATH(pool.deallocate(c), "not allocated here") << "another pool's block";
  EXPECT_DEATH(pool.deallocate(opaque(reinterpret_cast<void*>(8))), "not allocated here");
  EXPECT_DEATH(pool.deallocate(opaque(reinterpret_cast<void*>(~std::uintptr_t{7}))),
               "not allocated here");
  for (int i = 1; i < 24; i += 5) EXPECT_DEATH(pool.deallocate(a + i), "inside a block");
  if (pool.owns(b + pool.stride())) {
    EXPECT_DEATH(pool.deallocate(b + pool.stride()), "no block is in use");
  }
  pool.deallocate(a);
  EXPECT_DEATH(pool.deallocate(a), "double free");
  pool.deallocate(b);
  EXPECT_DEATH(pool.deallocate(a), "double free");  // not only at the top of the list
  EXPECT_TRUE(pool.audit());
}

/// There is no initialisation pass: the mark of a block that was never handed out may read as that
/// of a live one.
template <class... Policies>
void old_bytes_are_no_block() {
  const auto live = std::is_same_v<pick_policy<lock_kind, no_lock, Policies...>, no_lock>
                        ? std::byte{0xff}
                        : std::byte{static_cast<unsigned char>(detail::block_state::live)};
  std::vector<std::byte> bytes(1024, live);
  fixed_pool<Policies...> pool(block_layout{24, 8}, std::span(bytes));
  auto* const first = static_cast<std::byte*>(pool.allocate());
  EXPECT_DEATH(pool.deallocate(first - pool.stride()), "not allocated here") << "nobody's link";
  EXPECT_DEATH(pool.deallocate(first + pool.stride()), "no block is in use");
  EXPECT_DEATH(pool.deallocate(first + (pool.capacity() - 1) * pool.stride()),
               "no block is in use");
}
TEST(FixedPoolDeathTest, WhatItsStorageHeldBeforeIsNoBlock) {
  old_bytes_are_no_block<>();
  old_bytes_are_no_block<check::full<3>>();
  old_bytes_are_no_block<lock_free<>>();
}

/// A misuse that a tool would see before the pool does.
void flip_unseen(std::byte& byte, std::byte bits) {
  detail::tell_open(&byte, 1);
  byte ^= bits;
}

TEST(FullCheckDeathTest, SeesAWriteAfterFreeWherePossible) {
  std::byte bytes[4096];
  for (std::size_t at = 0; at < 48; ++at) {  // the block, and the canary behind it
    fixed_pool<check::full<1>> pool({24, 8}, bytes);
    auto* const a = static_cast<std::byte*>(pool.allocate());
    auto* const b = static_cast<std::byte*>(pool.allocate());
    auto* const c = static_cast<std::byte*>(pool.allocate());
    pool.deallocate(a);
    pool.deallocate(b);
    pool.deallocate(c);
    if (at >= pool.stride()) break;
    flip_unseen(b[at],
                std::byte{0x10});  // b is the top of the list now, a under it, c in the quarantine
    EXPECT_DEATH((void)pool.allocate(), "written to after it was freed") << at;
  }
}

TEST(FullCheck, ReusesTheLongestFreedBlockLastAndLosesNoCapacity) {
  std::byte bytes[1024];
  fixed_pool<check::full<4>> pool({24, 8}, bytes);
  void* const first = pool.allocate();
  pool.deallocate(first);
  std::size_t count = 0;
  void* last = nullptr;
  while (void* p = pool.allocate()) {
    last = p;
    ++count;
  }
  EXPECT_EQ(count, pool.capacity()) << "the quarantine must not cost capacity";
  EXPECT_EQ(last, first);
}

TEST(FullCheck, FillsFreshAndFreedBlocks) {
  std::byte bytes[512];
  fixed_pool<check::full<>> pool({24, 8}, bytes);
  auto* const p = static_cast<std::byte*>(pool.allocate());
  EXPECT_TRUE(detail::bytes_are(p, 24, detail::fresh_fill));
  pool.deallocate(p);
  detail::tell_open(p, 24);
  EXPECT_TRUE(detail::bytes_are(p, 24, detail::freed_fill));
}

TEST(FullCheckDeathTest, SeesAWriteWhenTheBlockLeavesTheQuarantine) {
  std::byte bytes[512];
  fixed_pool<check::full<1>> pool({24, 8}, bytes);
  auto* const a = static_cast<std::byte*>(pool.allocate());
  void* const b = pool.allocate();
  pool.deallocate(a);
  flip_unseen(a[5], std::byte{1});
  EXPECT_DEATH(pool.deallocate(b), "deallocate.*written to after it was freed");
  flip_unseen(a[5], std::byte{1});
  pool.deallocate(b);
  EXPECT_TRUE(pool.audit());
}

// Sixteen bytes are what one wide store or a small structure writes too far.
TEST(FullCheckDeathTest, SeesSixteenBytesBehindTheBlockBeforeTheyHitTheNext) {
  std::byte bytes[1024];
  for (std::size_t size : {1u, 7u, 8u, 20u, 24u, 64u}) {
    for (std::size_t alignment : {1u, 8u, 64u}) {
      fixed_pool<check::full<>> pool({size, alignment}, bytes);
      auto* const p = static_cast<std::byte*>(pool.allocate());
      auto* const next = static_cast<std::byte*>(pool.allocate());
      std::memset(p, 0xff, size);
      std::memset(next, 0x5a, size);
      for (const std::size_t changed : {1u, 16u}) {
        EXPECT_TRUE(pool.audit());
        for (std::size_t i = 0; i < changed; ++i) flip_unseen(p[size + i], std::byte{1});
        EXPECT_FALSE(pool.audit());
        EXPECT_DEATH(pool.deallocate(p), "ashlar: deallocate\\(0x.*overwritten");
        EXPECT_DEATH(pool.deallocate_as(p, "release"), "ashlar: release\\(0x.*overwritten");
        EXPECT_TRUE(detail::bytes_are(next, size, 0x5a)) << "size " << size;
        for (std::size_t i = 0; i < changed; ++i) flip_unseen(p[size + i], std::byte{1});
      }
      pool.deallocate(p);
    }
  }
}

// A corrupted list is found by the audit, not followed.
TEST(Audit, FindsABrokenLinkAndACircle) {
  alignas(8) std::byte bytes[256];
  fixed_pool<check::none> pool({16, 8}, bytes);
  void* const a = pool.allocate();
  void* const b = pool.allocate();
  pool.deallocate(a);
  pool.deallocate(b);
  EXPECT_TRUE(pool.audit());
  const auto set_link = [](void* p, void* to) {
    detail::tell_open(p, sizeof(to));
    std::memcpy(p, &to, sizeof(to));
  };
  set_link(b, opaque(bytes) + 4000);
  EXPECT_FALSE(pool.audit());
  set_link(b, b);
  EXPECT_FALSE(pool.audit());
  set_link(b, nullptr);
  EXPECT_FALSE(pool.audit()) << "a block is lost";
  set_link(b, a);
  EXPECT_TRUE(pool.audit());
}

/// A link of a pool that has them before its blocks, and what it means.
struct numbered_link {
  std::uint32_t block, to;
  const char* why;
};
/// Frees two blocks of the new pool on `bytes`, and breaks their list in each way: the audit sees
/// it, and no fault once the link is `right` again.
template <class Pool>
void expect_found(Pool& pool, std::byte* bytes, numbered_link right,
                  std::initializer_list<numbered_link> broken) {
  void* const a = pool.allocate();
  void* const b = pool.allocate();
  pool.deallocate(a);
  pool.deallocate(b);
  ASSERT_TRUE(pool.audit());
  const auto set = [bytes](numbered_link link) {
    std::memcpy(bytes + link.block * sizeof(link.to), &link.to, sizeof(link.to));
  };
  for (const numbered_link& link : broken) {
    set(link);
    EXPECT_FALSE(pool.audit()) << link.why;
  }
  set(right);
  EXPECT_TRUE(pool.audit());
}

// The links of a lock-free pool are indices before its blocks: 0 is none, n + 1 is block n.
TEST(Audit, FindsABrokenLinkAndACircleOfALockFreePool) {
  alignas(8) std::byte bytes[256] = {};
  fixed_pool<lock_free<>> pool({16, 8}, bytes);
  expect_found(pool, bytes, {1, 1, "right"},
               {{1, 100, "no such block"}, {1, 2, "a circle"}, {1, 0, "a block is lost"}});
}

// Those of any other checked pool are before its blocks, too: 0 is none, n is block n, counted from
// 1.
TEST(Audit, FindsABrokenLinkAndACircleOfACheckedPool) {
  alignas(8) std::byte bytes[256];
  fixed_pool<check::cheap> pool({16, 8}, bytes);
  expect_found(pool, bytes, {2, 1, "right"},
               {{2, 3, "a block that was never in use"},
                {2, 2, "a circle"},
                {2, 0, "a block is lost"},
                {2, detail::number_list<std::uint32_t>::live, "a block is free and in use"}});
}

TEST(Audit, FindsAMarkThatIsNotWhatIsCounted) {
  alignas(8) std::byte bytes[256];
  fixed_pool<check::cheap> pool({16, 8}, bytes);
  ASSERT_NE(pool.allocate(), nullptr);
  pool.deallocate(pool.allocate());
  ASSERT_TRUE(pool.audit());
  const auto turn =
      [&](std::size_t block) {  // what says "in use" says "free", and the other way round
        std::uint32_t link = 0;
        std::memcpy(&link, bytes + block * sizeof(link), sizeof(link));
        link = ~link;
        std::memcpy(bytes + block * sizeof(link), &link, sizeof(link));
      };
  for (std::size_t block : {1u, 2u}) {
    turn(block);
    EXPECT_FALSE(pool.audit()) << "block " << block;
    turn(block);
    EXPECT_TRUE(pool.audit());
  }
}

}  // namespace
