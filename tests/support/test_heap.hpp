// tests/support/test_heap.hpp: a heap on a steered address space, called as the runtime calls one, with the cache given.
#pragma once

#include <tests/support/test_headers.hpp>
#include <tests/support/test_space.hpp>

#include <ashlar/heap/basic_heap.hpp>

namespace ashlar::test {

struct test_heap_config {
  using space = test_space;
  using mutex = std::mutex;
};
using test_heap = basic_heap<test_heap_config>;

struct audits {
  void operator()(test_heap* h) const {
    h->audit();
    delete h;
  }
};
/// Returns: a heap that is audited at its end.
inline std::unique_ptr<test_heap, audits> make_heap() {
  return std::unique_ptr<test_heap, audits>(new test_heap);
}

/// Returns: such a heap, and its first cache.
inline std::pair<std::unique_ptr<test_heap, audits>, test_heap::cache*> heap_with_cache() {
  auto h = make_heap();
  test_heap::cache* const own = h->attach();
  return {std::move(h), own};
}

template <class Heap>
void* allocate(Heap& h, typename Heap::cache& own, std::size_t size) {
  if (void* block = Heap::try_allocate(own.tops, size); block != nullptr) return block;
  if (const class_index c = Heap::classes::class_for(size, 1); c != 0)
    return h.allocate_class(own, c);
  return h.allocate_large(size, 1, false, &own).address;
}
/// A block of the page heap's, however small it is.
template <class Heap>
void* large_of(Heap& h, std::size_t size) {
  return h.allocate_large(size, 1).address;
}
template <class Heap>
void deallocate(Heap& h, typename Heap::cache& own, void* block, const char* call = "free") {
  if (!Heap::try_deallocate(own.tops, block)) h.deallocate_slow(own, block, call);
}

// ---- what a heap counts, and the equations that hold for it ----

/// Returns: the statistics of `h`, of which `own` is the caller's cache.
inline ashlar_stats stats_of(test_heap& h, test_heap::cache* own = nullptr) {
  ashlar_stats stats;
  h.collect(stats, own);
  return stats;
}

/// The equations of core/stats.h.
inline void check_equations(const ashlar_stats& s) {
  ASSERT_EQ(s.class_count, class_count - 1);
  ashlar_total_stats sum{};
  const auto add = [&sum](const ashlar_class_stats& c) {
    EXPECT_EQ(c.allocations - c.frees, c.blocks_in_use) << "blocks of " << c.block_size;
    EXPECT_LE(c.blocks_in_use, c.peak_in_use) << "blocks of " << c.block_size;
    if (c.block_size != 0) {
      EXPECT_EQ(c.peak_bytes, c.peak_in_use * c.block_size);
    } else {
      EXPECT_GE(c.peak_bytes, c.committed_bytes);
    }
    EXPECT_GE(c.committed_bytes, c.blocks_in_use * c.block_size);
    sum.allocations += c.allocations;
    sum.frees += c.frees;
    sum.slack_bytes += c.slack_bytes;
    sum.bytes_in_use += c.block_size != 0 ? c.blocks_in_use * c.block_size : c.committed_bytes;
  };
  for (std::uint32_t i = 0; i < s.class_count; ++i) {
    EXPECT_EQ(s.classes[i].block_size, detail::block_sizes[i + 1]);
    add(s.classes[i]);
  }
  EXPECT_EQ(s.large.block_size, 0u);
  add(s.large);
  EXPECT_EQ(s.total.allocations, sum.allocations);
  EXPECT_EQ(s.total.frees, sum.frees);
  EXPECT_EQ(s.total.slack_bytes, sum.slack_bytes);
  EXPECT_EQ(s.total.bytes_in_use, sum.bytes_in_use);
  EXPECT_GE(s.total.peak_bytes_in_use, s.total.bytes_in_use);
  EXPECT_GE(s.total.committed_bytes, s.total.bytes_in_use);
  EXPECT_GE(s.total.peak_committed_bytes, s.total.committed_bytes);
  EXPECT_GE(s.total.reserved_bytes, s.total.committed_bytes);
}

/// Tests of slabs of small blocks that have several pages. Where the heap's page is 64 KiB they have
/// one, and no page leaves while one of its blocks is in use.
class SlabsWithPages : public testing::Test {
 protected:
  void SetUp() override {
    const detail::class_table& classes = detail::standard_classes;
    if (!detail::may_be_hollow(classes.shapes[classes.of_size(256)]))
      GTEST_SKIP() << "slabs of small blocks have one page";
  }
};

}  // namespace ashlar::test
