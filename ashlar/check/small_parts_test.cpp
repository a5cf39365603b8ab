// The tests of the small sources of ashlar/check: a part for each, with its name.
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/check/block_records.hpp>
#include <ashlar/check/checked_blocks.hpp>

namespace {

using ashlar::detail::block_record;
using ashlar::detail::block_records;
using namespace ashlar;
using detail::full_check;

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

/// Has room for so many blocks, and knows those that are out.
struct small_heap {
  std::size_t room = 2;
  std::size_t asked = 0;
  std::set<void*> out;
};
struct handle {
  small_heap* heap;
  [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment, bool&) const {
    ++heap->asked;
    if (heap->out.size() == heap->room) return nullptr;
    return *heap->out.insert(::operator new(bytes, std::align_val_t{alignment})).first;
  }
  [[nodiscard]] static std::size_t usable_size(const void*, const char*) {
    return full_check::bytes_for(size, block_alignment);
  }
  void give_back(void* block, const char*) const {
    ASSERT_EQ(heap->out.erase(block), 1u);
    ::operator delete(block, std::align_val_t{block_alignment});
  }
  static constexpr std::size_t size = 100, block_alignment = 16;
};
void* allocate(full_check& checks, handle h) {
  return detail::allocate_checked(checks, h, handle::size, 1, false, "test");
}

TEST(CheckedBlocks, WhatWaitsIsUsedBeforeThereIsNothing) {
  full_check checks;
  checks.start({.stack_depth = 0});
  small_heap of;
  const handle h{&of};
  void* const a = allocate(checks, h);
  void* const b = allocate(checks, h);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(allocate(checks, h), nullptr);
  EXPECT_EQ(of.asked, 3u) << "nothing waited, so there was nothing to ask again for";
  EXPECT_TRUE(detail::deallocate_checked(checks, h, a, "test"));
  EXPECT_TRUE(detail::deallocate_checked(checks, h, b, "test"));
  EXPECT_EQ(of.out.size(), 2u) << "both wait";
  void* const c = allocate(checks, h);
  EXPECT_NE(c, nullptr);
  EXPECT_EQ(of.out.size(), 1u) << "the rest of what waited went back, too";
  EXPECT_TRUE(detail::deallocate_checked(checks, h, c, "test"));
  detail::give_back_left(checks, h, checks.emptied_queue("test"), "test");
  EXPECT_TRUE(of.out.empty());
  of.room = 0;
  EXPECT_EQ(allocate(checks, h), nullptr);
  checks.end();
}

TEST(CheckedBlocks, WhatNoMemoryCanServeEmptiesNoQueue) {
  full_check checks;
  checks.start({.stack_depth = 0});
  small_heap of;
  const handle h{&of};
  EXPECT_TRUE(detail::deallocate_checked(checks, h, allocate(checks, h), "test"));
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 32, std::size_t{PTRDIFF_MAX}})
    EXPECT_EQ(detail::allocate_checked(checks, h, size, 16, false, "test"), nullptr);
  EXPECT_EQ(of.asked, 1u);
  EXPECT_EQ(of.out.size(), 1u) << "it still waits";
  detail::give_back_left(checks, h, checks.emptied_queue("test"), "test");
  checks.end();
}

}  // namespace
