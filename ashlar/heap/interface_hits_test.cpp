// Hits of the malloc interface's other calls, on a heap whose calls for memory are counted.
#include <cstring>
#include <memory>
#include <string>
#include <tests/support/test_heap.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/heap/interface_hits.hpp>

namespace {

using namespace ashlar;
using test::allocate;
using test::deallocate;
using test::test_heap;
using hits = detail::interface_hits<test_heap::classes>;

/// A heap with one cache, or two: then hits look at keys instead of marks.
struct moving {
  explicit moving(bool two_caches) {
    if (two_caches) second = heap->attach();
  }
  /// Effects: the cache has blocks of these sizes at hand.
  void warm(std::initializer_list<std::size_t> sizes) {
    for (const std::size_t size : sizes) deallocate(*heap, *own, allocate(*heap, *own, size));
  }
  void* move(void* block, std::size_t size) { return hits::try_move(own->tops, block, size); }

  std::unique_ptr<test_heap> heap = std::make_unique<test_heap>();
  test_heap::cache* own = heap->attach();
  test_heap::cache* second = nullptr;
};

class InterfaceHits : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Caches, InterfaceHits, testing::Values(false, true),
                         [](const auto& is) { return is.param ? "two_caches" : "one_cache"; });

TEST_P(InterfaceHits, AMovedBlockHasItsBytesAndTheOldOneIsFree) {
  moving m(GetParam());
  m.warm({48, 200});
  for (const auto& [from, to] : {std::pair{48, 200}, std::pair{200, 48}}) {
    auto* const old = static_cast<char*>(allocate(*m.heap, *m.own, static_cast<std::size_t>(from)));
    std::memset(old, 'x', static_cast<std::size_t>(from));
    const std::uint64_t calls = m.heap->space().calls();
    auto* const moved = static_cast<char*>(m.move(old, static_cast<std::size_t>(to)));
    ASSERT_NE(moved, nullptr);
    EXPECT_EQ(m.heap->space().calls(), calls);
    EXPECT_EQ(std::string(moved, 48), std::string(48, 'x'));
    EXPECT_EQ(
        m.heap->usable_size(moved, "usable"),
        test_heap::classes::block_size(test_heap::classes::of_size(static_cast<std::size_t>(to))));
    EXPECT_EQ(allocate(*m.heap, *m.own, static_cast<std::size_t>(from)), old)
        << "the last that was freed";
    deallocate(*m.heap, *m.own, old);
    deallocate(*m.heap, *m.own, moved);
  }
  m.heap->audit();
}

TEST_P(InterfaceHits, WhatIsNoHitIsLeftAsItIs) {
  moving m(GetParam());
  m.warm({48, 200});
  void* const block = allocate(*m.heap, *m.own, 48);
  EXPECT_EQ(m.move(block, 0), nullptr);
  EXPECT_EQ(m.move(block, 47), nullptr) << "it stays";
  EXPECT_EQ(m.move(block, small_size_max + 1), nullptr);
  EXPECT_EQ(m.move(block, 1000), nullptr) << "no block of this size is at hand";
  EXPECT_EQ(m.move(nullptr, 200), nullptr);
  EXPECT_EQ(m.move(&m, 200), nullptr) << "not of the heap";
  EXPECT_EQ(m.move(static_cast<char*>(block) + 16, 200), nullptr) << "no block begins there";
  deallocate(*m.heap, *m.own, block);
  EXPECT_EQ(m.move(block, 200), nullptr) << "a freed block";
  EXPECT_EQ(allocate(*m.heap, *m.own, 48), block) << "and it is free once";
  deallocate(*m.heap, *m.own, block);
  m.heap->audit();
}

TEST_P(InterfaceHits, AFullStackTakesNoBlock) {
  moving m(GetParam());
  std::vector<void*> blocks;
  for (int i = 0; i < 2000; ++i) blocks.push_back(allocate(*m.heap, *m.own, 48));
  void* const last = allocate(*m.heap, *m.own, 48);
  std::size_t freed = 0;
  while (test_heap::try_deallocate(m.own->tops, blocks[freed])) ++freed;
  m.warm({200});
  EXPECT_EQ(m.move(last, 200), nullptr);
  for (; freed != blocks.size(); ++freed) deallocate(*m.heap, *m.own, blocks[freed]);
  deallocate(*m.heap, *m.own, last);
  m.heap->audit();
}

}  // namespace
