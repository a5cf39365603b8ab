// Full checks over a heap of the test's own: which blocks go which way, also when there is no
// memory.
#include <cstddef>
#include <set>

#include <gtest/gtest.h>

#include <ashlar/check/checked_blocks.hpp>

namespace {

using namespace ashlar;
using detail::full_check;

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

TEST(CheckedBlocks, UnknownAddressesAreTheHeaps) {
  full_check checks;
  checks.start({.stack_depth = 0});
  small_heap of;
  int other = 0;
  EXPECT_FALSE(detail::deallocate_checked(checks, handle{&of}, &other, "test"));
}

}  // namespace
