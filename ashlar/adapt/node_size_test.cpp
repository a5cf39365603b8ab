// The sizes that are known at compile time, against what is really allocated.
#include <tests/support/node_checks.hpp>
#include <tests/support/test_headers.hpp>

namespace {

TEST(NodeSize, IsWhatEachContainerAllocates) {
  support::check_all_nodes();
}
TEST(SharedBlock, IsWhatAllocateSharedAllocates) {
  support::check_shared_blocks();
}
TEST(MaxBuckets, BoundsWhatUnorderedContainersAllocate) {
  support::check_buckets();
}

// Sizes that a programmer can work out: two or three links, a colour, and the element.
static_assert(ashlar::node_size<std::list<void*>> == 3 * sizeof(void*));
static_assert(ashlar::node_size<std::forward_list<void*>> == 2 * sizeof(void*));
static_assert(ashlar::node_size<std::set<void*>> == 5 * sizeof(void*));
static_assert(ashlar::node_size<std::map<void*, void*>> == 6 * sizeof(void*));
static_assert(ashlar::node_alignment<std::list<support::sized_key<64, 64>>> == 64);

}  // namespace
