// A walk through the places of blocks, a few at a time: each place has its turn.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <tests/support/test_heap.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/basic_heap.hpp>

namespace {

using namespace ashlar;
using test::test_heap;

using places = std::vector<const char*>;

TEST(InspectedHeap, EachPlaceHasItsTurn) {
  const auto h = std::make_unique<test_heap>();
  detail::block_cursor at;
  const auto nothing = [](const char*, std::size_t, std::size_t) { FAIL(); };
  EXPECT_FALSE(h->visit_next_places(at, 7, nothing));  // not started

  test_heap::cache* const own = h->attach();
  for (std::size_t i = 0; i < 3000; ++i)
    ASSERT_NE(test::allocate(*h, *own, 1 + i * 37 % 20'000), nullptr);
  ASSERT_NE(test::allocate(*h, *own, 300 * 1024), nullptr);
  places all;
  h->for_each_place([&](const char* place, std::size_t, class_index c) {
    if (c != 0) all.push_back(place);
    return true;
  });
  for (int round = 0; round < 2; ++round) {  // the second walk begins where the first did
    places visited;
    while (
        h->visit_next_places(at, 7, [&](const char* first, std::size_t count, std::size_t bytes) {
          EXPECT_LE(count, 7u);
          for (std::size_t i = 0; i != count; ++i) visited.push_back(first + i * bytes);
        }))
      continue;
    EXPECT_EQ(visited, all);
  }
  h->release_all();
}

TEST(InspectedHeap, AWalkGoesOnWhereSlabsHaveChanged) {
  const auto h = std::make_unique<test_heap>();
  test_heap::cache* const own = h->attach();
  std::vector<void*> small;
  for (std::size_t i = 0; i < 5000; ++i) small.push_back(test::allocate(*h, *own, 64));
  detail::block_cursor at;
  const auto look = [](const char*, std::size_t, std::size_t) {};
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(h->visit_next_places(at, 7, look));
  // Larger blocks take the place of those that were there, and fewer of them.
  for (void* const block : small) test::deallocate(*h, *own, block);
  h->flush(*own);
  static_cast<void>(h->trim());
  for (std::size_t i = 0; i < 50; ++i) ASSERT_NE(test::allocate(*h, *own, 16'000), nullptr);
  std::size_t steps = 0;
  while (h->visit_next_places(at, 7, look)) ASSERT_LT(++steps, 10'000u);
  h->release_all();
}

}  // namespace
