// Walks over live objects, at_death, move assignment and handles one pointer wide.
#include <tests/support/fixed_pools.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/pool/object_pool.hpp>
#include <ashlar/pool/static_pool.hpp>
#include <ashlar/pool/static_pool_ptr.hpp>

namespace {

using namespace ashlar;

using support::counted;
using support::new_source;

// ---- walks, over pools of every kind ----

template <class... Policies>
struct inside {
  static_pool<counted, 20, Policies...> pool;
};
template <class... Policies>
struct on_storage {
  using pool_type = object_pool<counted, Policies...>;
  std::byte bytes[pool_type::storage_bytes(20)];
  pool_type pool{std::span(bytes)};
};
template <class... Policies>
struct on_slabs {
  object_pool<counted, new_source, Policies...> pool{
      heap_blocks{.first_slab_blocks = 2, .max_slab_blocks = 5, .max_blocks = 20}};
};

template <class Setup>
class LiveObjects : public testing::Test {};
using setups =
    support::types<testing::Types<inside<>, inside<lock_free<>>, on_storage<counting::none>,
                                  on_slabs<check::full<2>>, on_slabs<std::mutex>>,
                   testing::Types<inside<check::full<3>>, inside<std::mutex>, on_storage<>,
                                  on_storage<lock_free<>>, on_slabs<>>>;
TYPED_TEST_SUITE(LiveObjects, setups);

template <class Pool>
std::multiset<int> visited(Pool& pool) {
  std::multiset<int> values;
  pool.for_each([&](auto& object) { values.insert(object.value); });
  return values;
}

TYPED_TEST(LiveObjects, AreExactlyThoseThatWereCreatedAndNotDestroyed) {
  std::mt19937 random(20240604);
  TypeParam setup;
  auto& pool = setup.pool;
  std::vector<counted*> live;
  for (int step = 0; step < 1500; ++step) {
    if (random() % 100 < (step / 250 % 2 == 0 ? 70u : 30u)) {
      if (counted* const p = pool.create(step)) live.push_back(p);
    } else if (!live.empty()) {
      const std::size_t i = random() % live.size();
      pool.destroy(live[i]);
      live[i] = live.back();
      live.pop_back();
    }
    std::multiset<int> expected;
    for (const counted* p : live) expected.insert(p->value);
    ASSERT_EQ(visited(pool), expected);
    ASSERT_EQ(visited(std::as_const(pool)), expected);
    std::multiset<int> ranged;
    for (const counted& c : pool.objects()) ranged.insert(c.value);
    ASSERT_EQ(ranged, expected);
  }
  for (counted* p : live) pool.destroy(p);
  EXPECT_EQ(pool.objects().begin(), pool.objects().end());
  EXPECT_EQ(counted::alive, 0);
}

TYPED_TEST(LiveObjects, MayBeDestroyedDuringTheWalk) {
  TypeParam setup;
  auto& pool = setup.pool;
  std::vector<counted*> all;
  for (int i = 0; i < 20; ++i) all.push_back(pool.create(i));
  pool.for_each([&](counted& c) {
    if (c.value % 3 == 0) pool.destroy(&c);
  });
  EXPECT_EQ(counted::alive, 13);
  for (counted& c : pool.objects()) {
    if (c.value % 2 == 0) pool.destroy(&c);
  }
  EXPECT_EQ(visited(pool), (std::multiset<int>{1, 5, 7, 11, 13, 17, 19}));
  // Others than the one visited, and new ones.
  int seen = 0;
  pool.for_each([&](counted&) {
    if (++seen == 1) {
      for (int i : {1, 5, 7, 11, 13, 17, 19}) pool.destroy(all[static_cast<std::size_t>(i)]);
      EXPECT_NE(pool.create(100), nullptr);
    }
  });
  EXPECT_LE(seen, 2);
  EXPECT_EQ(visited(pool), (std::multiset<int>{100}));
  pool.for_each([&](counted& c) { pool.destroy(&c); });
  EXPECT_EQ(counted::alive, 0);
  EXPECT_TRUE(pool.audit());
}

TYPED_TEST(LiveObjects, AThrowingVisitorLeavesThePoolUnlocked) {
  TypeParam setup;
  counted* const p = setup.pool.create(1);
  EXPECT_THROW(setup.pool.for_each([](counted&) { throw 1; }), int);
  setup.pool.destroy(p);
}

using some_range = decltype(std::declval<static_pool<counted, 3>&>().objects());
static_assert(std::forward_iterator<decltype(std::declval<some_range&>().begin())>);
static_assert(
    std::is_same_v<decltype(*std::declval<const static_pool<counted, 3>&>().objects().begin()),
                   const counted&>);
template <class Pool>
concept can_walk = requires(Pool& pool) {
  pool.objects();
  pool.for_each([](auto&) {});
};
static_assert(can_walk<static_pool<counted, 3>>);
static_assert(!can_walk<static_pool<counted, 3, check::none>>, "it knows no live block");

TEST(LiveObjectsRange, WorksWithAlgorithms) {
  static_pool<counted, 10> pool;
  for (int i = 0; i < 7; ++i) ASSERT_NE(pool.create(i), nullptr);
  const auto range = pool.objects();
  EXPECT_EQ(std::count_if(range.begin(), range.end(), [](const counted& c) { return c.value > 3; }),
            3);
  auto it = range.begin();
  const auto before = it++;
  EXPECT_EQ(before->value, 0);
  EXPECT_EQ(it->value, 1);
  EXPECT_NE(before, it);
  for (counted& c : range) pool.destroy(&c);
}

TEST(LiveObjectsThreads, AWalkRunsBesideOthersThatUseTheirOwn) {
  static static_pool<counted, 64, std::mutex> pool;
  counted* const kept = pool.create(7);
  std::vector<std::thread> others;
  for (int t = 0; t < 2; ++t) {
    others.emplace_back([] {
      for (int i = 0; i < 5000; ++i) {
        void* const p = pool.try_allocate();
        pool.deallocate(p);
      }
    });
  }
  for (int i = 0; i < 500; ++i) {
    std::size_t found = 0;
    pool.for_each([&](counted& c) { found += &c == kept; });
    ASSERT_EQ(found, 1u);
  }
  for (auto& t : others) t.join();
  pool.destroy(kept);
}

// ---- at death ----

TEST(AtDeath, DestroyRunsEachDestructorOnce) {
  const auto end_with_objects = []<class Pool>(std::type_identity<Pool>, auto... arguments) {
    {
      Pool pool(arguments...);
      for (int i = 0; i < 5; ++i) ASSERT_NE(pool.create(i), nullptr);
      pool.destroy(pool.create(5));
      EXPECT_EQ(counted::alive, 5);
    }
    EXPECT_EQ(counted::alive, 0);
  };
  end_with_objects(std::type_identity<static_pool<counted, 8, at_death::destroy>>());
  end_with_objects(std::type_identity<static_pool<counted, 8, at_death::destroy, lock_free<>>>());
  end_with_objects(
      std::type_identity<object_pool<counted, new_source, at_death::destroy, check::full<>>>(),
      heap_blocks{.first_slab_blocks = 2});
  EXPECT_EQ(new_source::pieces, 0);
}

// A tree whose parents destroy their children in the same pool.
struct node {
  using pool_type = static_pool<node, 8, at_death::destroy>;
  explicit node(pool_type& in) : pool(in) { ++alive; }
  ~node() {
    pool.destroy(child);
    --alive;
  }
  static inline int alive = 0;
  pool_type& pool;
  node* child = nullptr;
};
TEST(AtDeath, DestroyAllowsParentsThatDestroyTheirChildren) {
  {
    node::pool_type pool;
    node* const parent = pool.create(pool);
    parent->child = pool.create(pool);
    parent->child->child = pool.create(pool);
    ASSERT_NE(pool.create(pool), nullptr);
    EXPECT_EQ(node::alive, 4);
  }
  EXPECT_EQ(node::alive, 0);
}

static_assert(address_sanitizer ||
              std::is_trivially_destructible_v<static_pool<int, 4, at_death::destroy>>);
static_assert(!std::is_trivially_destructible_v<static_pool<std::string, 4, at_death::destroy>>);

// ---- move assignment and swap ----

static_assert(std::is_nothrow_move_assignable_v<object_pool<counted>>);
static_assert(std::is_nothrow_swappable_v<object_pool<counted, new_source>>);
static_assert(std::is_nothrow_move_assignable_v<fixed_pool<check::full<>>>);
static_assert(!std::is_move_assignable_v<object_pool<counted, std::mutex>>);
static_assert(!std::is_move_assignable_v<object_pool<counted, lock_free<>>>);
static_assert(!std::is_move_assignable_v<static_pool<counted, 4>>);
static_assert(!std::is_copy_assignable_v<object_pool<counted>>);

template <class... Policies>
using slabs_of_counted = object_pool<counted, new_source, Policies...>;

template <class Pool>
void expect_empty_and_defined(Pool& pool) {
  EXPECT_EQ(pool.capacity(), 0u);
  EXPECT_EQ(pool.try_allocate(), nullptr);
  EXPECT_EQ(pool.allocate(), nullptr);
  EXPECT_EQ(pool.create(1), nullptr);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
  EXPECT_FALSE(pool.owns(&pool));
  EXPECT_TRUE(pool.audit());
  EXPECT_EQ(pool.objects().begin(), pool.objects().end());
  pool.deallocate(nullptr);
  pool.destroy(nullptr);
}

TEST(PoolMove, AssignmentEndsWhatWasThereAndTakesOver) {
  {
    slabs_of_counted<at_death::destroy> a(heap_blocks{.first_slab_blocks = 2}),
        b(heap_blocks{.first_slab_blocks = 3});
    for (int i = 0; i < 10; ++i) ASSERT_NE(a.create(i), nullptr);
    std::vector<counted*> kept;
    for (int i = 100; i < 120; ++i) kept.push_back(b.create(i));
    a = std::move(b);
    EXPECT_EQ(counted::alive, 20) << "a's objects are destroyed";
    expect_empty_and_defined(b);  // NOLINT(bugprone-use-after-move): specified
    EXPECT_EQ(a.stats().blocks_in_use, 20u);
    auto& same = a;
    a = std::move(same);
    EXPECT_EQ(a.stats().blocks_in_use, 20u) << "to itself: unchanged";
    a.destroy(kept[3]);
    EXPECT_EQ(a.create(5), kept[3]);
    EXPECT_TRUE(a.audit());
    b = slabs_of_counted<at_death::destroy>(heap_blocks{});
    EXPECT_NE(b.create(1), nullptr) << "an emptied pool takes a new one";
    EXPECT_EQ(counted::alive, 21);
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(new_source::pieces, 0);
}

TEST(PoolMove, SwapExchangesBlocks) {
  std::byte first[object_pool<counted>::storage_bytes(3)],
      second[object_pool<counted>::storage_bytes(5)];
  object_pool<counted> a{std::span(first)}, b{std::span(second)};
  counted* const in_a = a.create(1);
  counted* const in_b = b.create(2);
  using std::swap;
  swap(a, b);
  EXPECT_EQ(a.capacity(), 5u);
  EXPECT_EQ(b.capacity(), 3u);
  EXPECT_TRUE(a.owns(in_b) && b.owns(in_a));
  a.destroy(in_b);
  b.destroy(in_a);
  EXPECT_TRUE(a.audit() && b.audit());
  object_pool<counted> c(std::move(a));
  swap(a, c);  // NOLINT(bugprone-use-after-move): specified
  expect_empty_and_defined(c);
  EXPECT_EQ(a.capacity(), 5u);
}

TEST(PoolMove, AFixedPoolTakesTheBlockSizeOfTheOther) {
  std::byte first[256], second[256];
  fixed_pool<check::full<2>> a({16, 8}, first), b({40, 8}, second);
  void* const p = b.allocate();
  b.deallocate(p);
  a = std::move(b);
  EXPECT_EQ(a.block_size(), 40u);
  EXPECT_TRUE(a.owns(p));
  EXPECT_TRUE(a.audit());
}

// ---- handles one pointer wide ----

constinit static_pool<counted, 3> handled;
constinit static_pool<counted, 1, exhaustion::throw_bad_alloc> throwing;

static_assert(sizeof(static_pool_ptr<handled>) == sizeof(void*));
static_assert(sizeof(pool_ptr<static_pool<counted, 3>>) == 2 * sizeof(void*));
static_assert(!noexcept(make_static<handled>(1)), "the constructor may throw");

TEST(StaticPoolPtr, DestroysItsObjectInThePoolOfItsType) {
  {
    static_pool_ptr<handled> a = make_static<handled>(1);
    auto b = make_static<handled>(2);
    EXPECT_TRUE(handled.owns(a.get()));
    EXPECT_EQ(a->value + b->value, 3);
    a = std::move(b);
    EXPECT_EQ(counted::alive, 1);
    EXPECT_EQ(a->value, 2);
    auto c = make_static<handled>(3);
    auto d = make_static<handled>(4);
    EXPECT_EQ(make_static<handled>(5), nullptr) << "empty: null, as by the pool's policy";
    EXPECT_THROW((void)make_static<throwing>(-1), std::invalid_argument);
    const auto only = make_static<throwing>(1);
    EXPECT_THROW((void)make_static<throwing>(1), std::bad_alloc);
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(handled.stats().blocks_in_use, 0u);
}

}  // namespace
