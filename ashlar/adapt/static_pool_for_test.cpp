// Static pools for containers: as many elements as promised, and no other heap.
#include <tests/support/node_checks.hpp>
#include <tests/support/random.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/adapt/static_pool_for.hpp>

namespace {

std::size_t news = 0;  // calls of operator new, of this whole program

}  // namespace

// Replaced for the whole test program: they count, and are malloc. Not inlined: gcc would take them
// for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t n) {
  ++news;
  if (void* const p = std::malloc(n == 0 ? 1 : n); p != nullptr) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

using namespace ashlar;

constexpr std::size_t most = 100;
constinit static_pool_for<std::list<int>, most> list_nodes;
constinit static_pool_for<std::forward_list<int>, most> forward_list_nodes;
constinit static_pool_for<std::set<int>, most> set_nodes;
constinit static_pool_for<std::multiset<int>, most> multiset_nodes;
constinit static_pool_for<std::map<int, double>, most> map_nodes;
constinit static_pool_for<std::multimap<int, char>, most> multimap_nodes;
constinit static_pool_for<std::unordered_set<int>, most> unordered_set_nodes;
constinit static_pool_for<std::unordered_multiset<int>, most> unordered_multiset_nodes;
constinit static_pool_for<std::unordered_map<int, double>, most> unordered_map_nodes;
constinit static_pool_for<std::unordered_multimap<int, char>, most> unordered_multimap_nodes;
constinit static_pool_for<std::map<int, support::sized_key<64, 64>>, most> aligned_nodes;

const auto key = [](auto& c, int i) { c.emplace(i); };
const auto pair = [](auto& c, int i) {
  c.emplace(i, typename std::remove_cvref_t<decltype(c)>::mapped_type());
};
// Of those that keep equal keys, one element more than N may not fit.
const auto key_below = [](auto& c, int i) {
  if (c.size() < most) c.emplace(i);
};
const auto pair_below = [](auto& c, int i) {
  if (c.size() < most) pair(c, i);
};
const auto back_below = [](auto& c, int i) {
  if (c.size() < most) c.push_back(i);
};
const auto front_below = [](auto& c, int i) {
  if (static_cast<std::size_t>(std::distance(c.begin(), c.end())) < most) c.push_front(i);
};

TEST(StaticPoolFor, HoldsWhatItPromisesWithoutAHeap) {
  const std::size_t before = news;
  support::check_static_pool(list_nodes, back_below);
  support::check_static_pool(forward_list_nodes, front_below);
  support::check_static_pool(set_nodes, key);
  support::check_static_pool(multiset_nodes, key_below);
  support::check_static_pool(map_nodes, pair);
  support::check_static_pool(multimap_nodes, pair_below);
  support::check_static_pool(unordered_set_nodes, key);
  support::check_static_pool(unordered_multiset_nodes, key_below);
  support::check_static_pool(unordered_map_nodes, pair);
  support::check_static_pool(unordered_multimap_nodes, pair_below);
  support::check_static_pool(aligned_nodes, pair);
  EXPECT_EQ(news, before);
}

template <std::size_t N>
void check_small() {
  static constinit static_pool_for<std::unordered_set<int>, N> nodes;
  static constinit static_pool_for<std::unordered_map<int, support::sized_key<200, 8>>, N> wide;
  support::check_static_pool(nodes, key);
  support::check_static_pool(wide, pair);
}
// About the first numbers of buckets that the library chooses, where rounding tells most.
template <bool All>
using small_numbers =
    std::conditional_t<All, std::index_sequence<1, 2, 3, 5, 6, 11, 12, 13, 14, 23, 24, 29, 30>,
                       std::index_sequence<1, 3, 13, 14, 30>>;
TEST(StaticPoolFor, SmallNumbersOfElements) {
  const std::size_t before = news;
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    (check_small<N>(), ...);
  }(small_numbers<support::tests_all>());
  EXPECT_EQ(news, before);
}

// Every call that keeps within N, in any order: the pool never says no.
TEST(StaticPoolFor, ServesRandomProgramsOfAFullSet) {
  const std::size_t before = news;
  constexpr int n = 200;
  static constinit static_pool_for<std::unordered_set<int>, n> nodes;
  support::random_source random(1);
  decltype(nodes)::container c(nodes);
  for (int step = 0; step < 50'000; ++step) {
    const int k = static_cast<int>(random.below(n));  // so at most n elements
    switch (random.below(12)) {
      case 0:
        c.erase(k);
        break;
      case 1:
        c.rehash(random.below(n + 1));
        break;
      case 2:
        if (random.chance(5)) c.clear();
        break;
      case 3:
        if (random.chance(5)) c = decltype(nodes)::container(nodes);
        break;
      default:
        c.emplace(k);
    }
  }
  EXPECT_EQ(news, before);
}

TEST(StaticPoolFor, BeyondThatIsBadAlloc) {
  static constinit static_pool_for<std::list<int>, 3> nodes;
  decltype(nodes)::container c(nodes.allocator());
  for (int i = 0; i < 3; ++i) c.push_back(i);
  EXPECT_THROW(c.push_back(3), std::bad_alloc);
  EXPECT_EQ(c.size(), 3u);

  static constinit static_pool_for<std::unordered_set<int>, 3> buckets;
  decltype(buckets)::container s(buckets);
  EXPECT_THROW(s.rehash(100'000), std::bad_alloc);
  s.insert(1);
  EXPECT_EQ(s.size(), 1u);
}

// docs/how-to/one-hot-container.md: "a list holds 100, a map or a set 101, an unordered one 103"
template <class Container, class Insert>
void expect_full_at(std::size_t at_most, Insert insert) {
  static constinit static_pool_for<Container, most> nodes;
  typename decltype(nodes)::container c(nodes);
  const auto fill = [&] {
    for (int i = 0; i < 200; ++i) insert(c, i);
  };
  EXPECT_THROW(fill(), std::bad_alloc);
  EXPECT_GE(c.size(), most);
  EXPECT_LE(c.size(), at_most);
}
TEST(StaticPoolFor, IsFullWhereThePageSays) {
  expect_full_at<std::list<int>>(100, [](auto& c, int i) { c.push_back(i); });
  expect_full_at<std::set<int>>(101, key);
  expect_full_at<std::map<int, int>>(101, pair);
  expect_full_at<std::unordered_set<int>>(103, key);
  expect_full_at<std::unordered_map<int, int>>(103, pair);
}

TEST(StaticPoolFor, TakesPoliciesAndOtherAllocatorsContainers) {
  using counted = support::recording_allocator<int>;
  static constinit static_pool_for<std::list<int, counted>, 5, check::none, counting::none> nodes;
  static_assert(
      std::is_same_v<decltype(nodes)::container, std::list<int, decltype(nodes)::allocator_type>>);
  static_assert(sizeof(nodes) < 5 * node_size<std::list<int>> + 64);
  decltype(nodes)::container c(nodes);
  c.push_back(1);
  EXPECT_EQ(c.front(), 1);
}

TEST(NewCounter, Counts) {
  const std::size_t before = news;
  std::list<int> heap(3);
  EXPECT_EQ(news, before + 3) << "else the tests above could not fail";
}

// ---- the sizes that are known at compile time, against what is really allocated ----

TEST(NodeSize, IsWhatEachContainerAllocates) { support::check_all_nodes(); }
TEST(SharedBlock, IsWhatAllocateSharedAllocates) { support::check_shared_blocks(); }
TEST(MaxBuckets, BoundsWhatUnorderedContainersAllocate) { support::check_buckets(); }

// Sizes that a programmer can work out: two or three links, a colour, and the element.
static_assert(ashlar::node_size<std::list<void*>> == 3 * sizeof(void*));
static_assert(ashlar::node_size<std::forward_list<void*>> == 2 * sizeof(void*));
static_assert(ashlar::node_size<std::set<void*>> == 5 * sizeof(void*));
static_assert(ashlar::node_size<std::map<void*, void*>> == 6 * sizeof(void*));
static_assert(ashlar::node_alignment<std::list<support::sized_key<64, 64>>> == 64);

}  // namespace
