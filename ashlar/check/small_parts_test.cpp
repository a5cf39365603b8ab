// The tests of the small sources of ashlar/check: a part for each, with its name.

#include <tests/support/test_headers.hpp>

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include <ashlar/check/hardened_blocks.hpp>
#include <ashlar/check/watched_heap.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;

// ---- block_records ------------------------------------------------------------------------------
// Records of blocks against a map: what is in, what was taken out, and that the table follows.

/// Never looked at: a record only compares addresses.
std::byte* address_of(std::size_t i) {
  return reinterpret_cast<std::byte*>(std::uintptr_t{0x10000} + i * 16);
}

TEST(BlockRecords, ARandomProgramAgreesWithAMap) {
  block_records records;
  std::map<std::byte*, block_record*> model;
  std::vector<block_record*> out;  // taken out, not yet put by
  std::mt19937_64 random(5);
  // More than twice the buckets that a table starts with, so that it doubles while chains are full.
  for (int i = 0; i < 60'000; ++i) {
    std::byte* const address = address_of(random() % 16'384);
    const auto found = model.find(address);
    ASSERT_EQ(records.find(address), found == model.end() ? nullptr : found->second);
    if (found == model.end()) {
      block_record* const r = records.add(address);
      ASSERT_NE(r, nullptr);
      ASSERT_EQ(r->address, address);
      ASSERT_EQ(r->freed.call, nullptr) << "a used record comes as new";
      r->freed.call = "free";
      model.emplace(address, r);
    } else if (random() % 3 == 0) {
      records.take_out(found->second);
      out.push_back(found->second);
      model.erase(found);
    }
    if (out.size() == 100) {
      for (block_record* r : out) records.put_by(r);
      out.clear();
    }
    ASSERT_EQ(records.count(), model.size());
  }
  std::size_t visited = 0;
  records.for_each([&](const block_record& r) {
    ++visited;
    EXPECT_EQ(model.at(r.address), &r);
  });
  EXPECT_EQ(visited, model.size());
  EXPECT_GE(records.memory_bytes(), model.size() * sizeof(block_record));
  EXPECT_GT(model.size(), 8192u) << "the program was too short to see the table double";
}

// ---- checked_blocks -----------------------------------------------------------------------------
// Full checks over a heap of the test's own: which blocks go which way, also when there is no
// memory.

/// Has so many blocks, which are there from the start.
struct small_heap {
  static constexpr std::size_t size = 100, alignment = 16;
  explicit small_heap(std::size_t count) : room(count) {
    for (; count != 0; --count) {
      unused.push_back(::operator new(full_check::bytes_for(size, alignment)));
      all.insert(unused.back());
    }
  }
  ~small_heap() {
    EXPECT_EQ(std::set(unused.begin(), unused.end()), all) << "each came back, once";
    for (void* block : all) ::operator delete(block);
  }
  [[nodiscard]] std::size_t out() const { return room - unused.size(); }

  std::size_t room, asked = 0;
  std::vector<void*> unused;
  std::set<void*> all;
};
struct handle {
  small_heap* heap;
  [[nodiscard]] new_block take(std::size_t, std::size_t, bool) const {
    ++heap->asked;
    if (heap->unused.empty()) return {};
    void* const block = heap->unused.back();
    heap->unused.pop_back();
    return {block, false};
  }
  [[nodiscard]] static std::size_t usable_size(const void*, const char*) {
    return full_check::bytes_for(small_heap::size, small_heap::alignment);
  }
  void give_back(void* block, const char*) const { heap->unused.push_back(block); }
};
void* allocate(full_check& checks, handle h) {
  return detail::allocate_checked(checks, h, small_heap::size, 1, false, "test");
}

TEST(CheckedBlocks, WhatWaitsIsUsedBeforeThereIsNothing) {
  full_check checks;
  checks.start({.stack_depth = 0});
  small_heap of(2);
  const handle h{&of};
  void* const a = allocate(checks, h);
  void* const b = allocate(checks, h);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(allocate(checks, h), nullptr);
  EXPECT_EQ(of.asked, 3u) << "nothing waited, so there was nothing to ask again for";
  EXPECT_TRUE(detail::deallocate_checked(checks, h, a, "test"));
  EXPECT_TRUE(detail::deallocate_checked(checks, h, b, "test"));
  EXPECT_EQ(of.out(), 2u) << "both wait";
  void* const c = allocate(checks, h);
  EXPECT_NE(c, nullptr);
  EXPECT_EQ(of.out(), 1u) << "the rest of what waited went back, too";
  EXPECT_TRUE(detail::deallocate_checked(checks, h, c, "test"));
  detail::give_back_left(checks, h, checks.emptied_queue("test"), "test");
  checks.end();
}

#if defined(__linux__)
TEST(CheckedBlocks, RecordsOfWhatWaitsAreUsedWhereTheSystemRefusesMemoryForOthers) {
  if (support::sanitized) GTEST_SKIP() << "a sanitizer needs addresses of its own";
  full_check checks;
  checks.start({.stack_depth = 0});
  small_heap of(3000);
  const handle h{&of};
  std::vector<void*> made(of.room + 1, nullptr);
  ASSERT_NE(made[0] = allocate(checks, h), nullptr);
  rlimit all{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &all), 0);
  const rlimit none = {1, all.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &none), 0);
  std::size_t n = 1;
  while ((made[n] = allocate(checks, h)) != nullptr) ++n;
  const bool has_blocks = !of.unused.empty();
  for (std::size_t i = 0; i < n; ++i)
    if (!detail::deallocate_checked(checks, h, made[i], "test")) n = 0;
  void* const again = allocate(checks, h);
  ::setrlimit(RLIMIT_AS, &all);
  EXPECT_TRUE(has_blocks) << "it was a record that was missing";
  EXPECT_NE(again, nullptr);
  EXPECT_TRUE(detail::deallocate_checked(checks, h, again, "test"));
  detail::give_back_left(checks, h, checks.emptied_queue("test"), "test");
  checks.end();
}
#endif

TEST(CheckedBlocks, WhatNoMemoryCanServeEmptiesNoQueue) {
  full_check checks;
  checks.start({.stack_depth = 0});
  small_heap of(2);
  const handle h{&of};
  EXPECT_TRUE(detail::deallocate_checked(checks, h, allocate(checks, h), "test"));
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 32, std::size_t{PTRDIFF_MAX}})
    EXPECT_EQ(detail::allocate_checked(checks, h, size, 16, false, "test"), nullptr);
  EXPECT_EQ(of.asked, 1u);
  EXPECT_EQ(of.out(), 1u) << "it still waits";
  detail::give_back_left(checks, h, checks.emptied_queue("test"), "test");
  checks.end();
}

// ---- zero_blocks -------------------------------------------------------------------------------
// Blocks of no bytes: distinct, aligned, bounded, and at addresses that cannot be accessed.

std::unique_ptr<zero_blocks> some() { return std::make_unique<zero_blocks>(); }

TEST(ZeroBlocks, AreDistinctAndNotAccessible) {
  const auto blocks = some();
  EXPECT_FALSE(blocks->contains(nullptr));
  std::set<void*> seen;
  for (int i = 0; i < 1000; ++i) {
    void* const block = blocks->allocate(1, block_family::c);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(blocks->contains(block));
    EXPECT_EQ(blocks->family_of(block), block_family::c);
    EXPECT_TRUE(is_aligned(block, block_granule));
    EXPECT_TRUE(seen.insert(block).second);
  }
  auto* const first = static_cast<volatile char*>(*seen.begin());
  EXPECT_DEATH(*first = 1, "");
  EXPECT_DEATH(static_cast<void>(*first), "");
}

TEST(ZeroBlocks, ASecondFreeAndAnInteriorAddressAreSeen) {
  const auto blocks = some();
  auto* const block = static_cast<char*>(blocks->allocate(1, block_family::cxx));
  EXPECT_EQ(blocks->family_of(block + 1), block_family::none);
  EXPECT_EQ(blocks->family_of(block + block_granule), block_family::none);
  EXPECT_EQ(blocks->family_of(block), block_family::cxx);
  EXPECT_TRUE(blocks->free(block));
  EXPECT_EQ(blocks->family_of(block), block_family::none);
  EXPECT_FALSE(blocks->free(block));
  // All others have their turn first.
  for (std::size_t i = 1; i < zero_blocks::blocks_max; ++i) {
    void* const other = blocks->allocate(1, block_family::c);
    ASSERT_NE(other, block);
    ASSERT_TRUE(blocks->free(other));
  }
  EXPECT_EQ(blocks->allocate(1, block_family::c), block);
}

TEST(ZeroBlocks, AreAligned) {
  const auto blocks = some();
  for (std::size_t alignment = 1; alignment <= std::size_t{1} << 16; alignment *= 2)
    for (int i = 0; i < 10; ++i) {
      void* const block = blocks->allocate(alignment, block_family::c);
      ASSERT_NE(block, nullptr) << alignment;
      EXPECT_TRUE(is_aligned(block, alignment)) << alignment;
    }
  EXPECT_EQ(blocks->allocate(std::size_t{1} << 30, block_family::c), nullptr);
}

TEST(ZeroBlocks, AreBounded) {
  const auto blocks = some();
  std::size_t live = 0;
  while (blocks->allocate(1, block_family::c) != nullptr) ++live;
  EXPECT_EQ(live, zero_blocks::blocks_max);
}

TEST(ZeroBlocks, ThreadsGetDifferentOnes) {
  const auto blocks = some();
  std::array<std::vector<void*>, 4> taken;
  std::vector<std::thread> threads;
  for (auto& own : taken)
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        void* const block = blocks->allocate(1, block_family::c);
        if (i % 2 == 0)
          own.push_back(block);
        else
          EXPECT_TRUE(blocks->free(block));
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::set<void*> all;
  for (const auto& own : taken)
    for (void* const block : own) EXPECT_TRUE(block != nullptr && all.insert(block).second);
}

}  // namespace
