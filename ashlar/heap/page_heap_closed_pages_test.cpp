// The closed page behind each slab of a hardened process's heap.
// Needs POSIX.
#include <cstddef>
#include <cstdint>
#include <tests/support/modelled_page_heap.hpp>
#include <tests/support/test_space.hpp>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <ashlar/heap/page_heap.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using test::space_call;
using test::test_space;
using modelled = modelled_page_heap;

/// Returns: whether the byte at `p` can be read: the system says so without a fault.
bool is_accessible(const char* p) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const bool done = ::write(ends[1], p, 1) == 1;
  ::close(ends[0]);
  ::close(ends[1]);
  return done;
}

TEST(PageHeap, AClosedPageLiesBehindEachSlabBehindSoManyAsAreAllowed) {
  sealable<test_space> space;
  modelled m(space);
  run* const before = m.new_slab(5);
  m.close_behind_slabs();
  const std::size_t own = standard_classes.shapes[5].pages;
  std::vector<run*> slabs;
  for (int i = 0; i < 25; ++i) slabs.push_back(m.new_slab(5));
  for (std::size_t i = 0; i < slabs.size(); ++i) {
    const char* const behind = m.heap().address_of(*slabs[i]) + own * page_size;
    EXPECT_EQ(is_accessible(behind - 1), true);
    if (i < 20) {
      EXPECT_FALSE(is_accessible(behind)) << i;
      EXPECT_EQ(m.heap().class_anywhere(behind), 0u);
      EXPECT_EQ(m.heap().large_at(behind), nullptr);
    }
  }
  EXPECT_EQ(before->pages, own);
  EXPECT_EQ(slabs[20]->pages, own) << "more than were allowed";
  m.audit();
  // The closed pages of slabs that leave are pages like others, and other slabs get closed ones for them.
  for (std::size_t i = 0; i < 10; ++i) m.drop(slabs[i]);
  m.audit();
  run* const later = m.new_slab(5);
  EXPECT_FALSE(is_accessible(m.heap().address_of(*later) + own * page_size));
  EXPECT_NE(m.new_large(3 * (own + 1), 1), nullptr);
  m.drop_all();
  m.heap().purge_all();
  m.audit();
}

TEST(PageHeap, ASealedHeapClosesNoPageAndOpensThoseThatAre) {
  sealable<test_space> space;
  modelled m(space);
  m.close_behind_slabs();
  run* const closed = m.new_slab(5);
  run* const kept = m.new_large(100, 1);
  m.drop(kept);
  space.seal(true);
  const std::uint64_t calls = space.calls();
  EXPECT_EQ(m.new_slab(5)->pages, standard_classes.shapes[5].pages);
  EXPECT_EQ(space.calls(), calls);
  m.drop(closed);
  EXPECT_EQ(space.calls(), calls + 1);
  space.seal(false);
  m.audit();
}

TEST(PageHeap, PagesThatTheSystemDoesNotCloseAreCountedAndUsedByNobody) {
  sealable<test_space> space;
  modelled m(space);
  m.close_behind_slabs();
  run* const closed = m.new_slab(5);
  EXPECT_EQ(m.heap().stats().closes_refused, 0u);
  space.fail_always(space_call::close, true);
  run* const open = m.new_slab(5);
  ASSERT_NE(open, nullptr);
  EXPECT_EQ(open->pages, closed->pages);
  EXPECT_EQ(m.heap().stats().closes_refused, 1u);
  const char* const behind = m.heap().address_of(*open) + (open->pages - 1) * page_size;
  EXPECT_TRUE(is_accessible(behind));
  EXPECT_EQ(m.heap().class_anywhere(behind), 0u);
  m.audit();
  m.drop_all();
  m.audit();
}

}  // namespace
