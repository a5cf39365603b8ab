#include <tests/support/fixed_pools.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/pool/object_pool.hpp>
#include <ashlar/pool/placement_new.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

using namespace ashlar;

struct point {
  int x, y;
};
struct alignas(64) line_of_cache {
  char bytes[100];
};
using support::counted;

// ---- bytes: the classic static pools were arrays of pointers, and so of 8 times the blocks ----

constexpr std::size_t word = sizeof(void*);
template <class T, std::size_t N>
using bare = static_pool<T, N, check::none, counting::none>;
static_assert(sizeof(bare<point, 100>) == 100 * sizeof(point) + 2 * word);
static_assert(sizeof(bare<char[396], 10>) == 10 * align_up(396, word) + 2 * word);
static_assert(bare<char, 100>::slot_bytes == word);
static_assert(bare<line_of_cache, 5>::slot_bytes == sizeof(line_of_cache));
static_assert(sizeof(bare<line_of_cache, 5>) == 5 * sizeof(line_of_cache) + 2 * 64);
static_assert(alignof(bare<line_of_cache, 5>) == 64);
static_assert(sizeof(static_pool<point, 96, check::none>) == 96 * sizeof(point) + 4 * word);
static_assert(sizeof(static_pool<point, 96>) ==
              96 * sizeof(point) + align_up(96 + 1, word) + 4 * word);
static_assert(sizeof(static_pool<point, 96, check::none, counting::none,
                                 exhaustion::throw_bad_alloc, named<"points">>) ==
              96 * sizeof(point) + 2 * word);

static_assert(address_sanitizer || std::is_trivially_destructible_v<static_pool<counted, 4>>);
static_assert(!std::is_trivially_destructible_v<static_pool<counted, 4, at_death::stop>>);
static_assert(!std::is_move_constructible_v<static_pool<counted, 4>>);
static_assert(std::is_nothrow_move_constructible_v<object_pool<counted>>);

// Constant-initialised with every lock and check.
[[maybe_unused]] constinit static_pool<point, 3> points;
[[maybe_unused]] constinit static_pool<line_of_cache, 3, std::mutex> lines;
[[maybe_unused]] constinit static_pool<point, 3, lock_free<>> shared_points;
[[maybe_unused]] constinit static_pool<point, 3, check::full<2>, spin_lock> guarded_points;

TEST(StaticPool, OfNoBlocksIsAlwaysEmpty) {
  static_pool<point, 0> none;
  EXPECT_EQ(none.try_allocate(), nullptr);
  EXPECT_EQ(none.capacity(), 0u);
  EXPECT_TRUE(none.audit());
  static_pool<point, 0, lock_free<>> shared_none;
  EXPECT_EQ(shared_none.try_allocate(), nullptr);
}

TEST(StaticPool, HasNoInitialisationPass) {
  using pool_type = static_pool<char[64], 1000>;
  std::vector<unsigned char> bytes(sizeof(pool_type) + alignof(pool_type), 0xEE);
  void* at = bytes.data();
  std::size_t room = bytes.size();
  auto* const pool = ::new (std::align(alignof(pool_type), sizeof(pool_type), at, room)) pool_type;
  std::size_t written = 0;
  for (const unsigned char b : bytes) written += b != 0xEE;
  EXPECT_LE(written, 8 * word);
  EXPECT_NE(pool->try_allocate(), nullptr);
  pool->~pool_type();
}

TEST(ObjectPool, AThrowingConstructorGivesTheBlockBack) {
  static_pool<counted, 1> pool;
  for (int i = 0; i < 3; ++i) EXPECT_THROW((void)pool.create(-1), std::invalid_argument);
  EXPECT_THROW((void)pool.make(-1), std::invalid_argument);
  EXPECT_THROW((void)(new (pool) counted(-1)), std::invalid_argument);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
  EXPECT_NE(pool.create(1), nullptr);
  EXPECT_EQ(pool.create(1), nullptr);
  counted::alive = 0;
}

TEST(ObjectPool, HandlesDestroyThemselves) {
  static_pool<counted, 2> pool;
  {
    auto a = pool.make(1);
    auto b = pool.make(2);
    EXPECT_EQ(pool.make(3), nullptr) << "empty: null";
    EXPECT_EQ(counted::alive, 2);
    pool_ptr<static_pool<counted, 2>> moved = std::move(a);
    EXPECT_EQ(moved->value, 1);
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

/// Its destructor ends the program with another message than a fault, where it must not run.
struct destroyed_once {
  static inline bool must_not_run = false;
  ~destroyed_once() {
    if (!must_not_run) return;
    std::fputs("the destructor runs in a block that is not in use\n", stderr);
    std::abort();
  }
};
template <class... Policies>
void destroys_only_what_is_in_use() {
  static_pool<destroyed_once, 2, Policies...> pool;
  destroyed_once* const object = pool.create();
  pool.destroy(object);
  destroyed_once::must_not_run = true;
  EXPECT_DEATH(pool.destroy(object), "ashlar: destroy\\(0x.*double free");
  EXPECT_DEATH(pool.destroy(reinterpret_cast<destroyed_once*>(&pool) - 1),
               "ashlar: destroy\\(0x.*not allocated here");
  destroyed_once::must_not_run = false;
}
TEST(ObjectPoolDeathTest, DestroyingTwiceIsSeenBeforeTheDestructorRuns) {
  destroys_only_what_is_in_use<>();
  destroys_only_what_is_in_use<lock_free<>>();
  destroys_only_what_is_in_use<std::mutex>();
}

// ---- new (pool) T ----

TEST(PlacementNew, TakesABlockAndRespectsAlignment) {
  static_pool<line_of_cache, 2> pool;
  auto* const a = new (pool) line_of_cache;
  EXPECT_TRUE(is_aligned(a, 64));
  EXPECT_TRUE(pool.owns(a));
  auto* const b = new (pool) point{1, 2};  // smaller: fits
  EXPECT_EQ(b->y, 2);
  EXPECT_EQ(new (pool) point, nullptr) << "empty: null, and no constructor";
  destroy_in(pool, a);
  destroy_in(pool, b);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

TEST(PlacementNew, AnEmptyPoolMayThrow) {
  static_pool<point, 0, exhaustion::throw_bad_alloc> pool;
  EXPECT_THROW((void)new (pool) point, std::bad_alloc);
  static_pool<point, 0, exhaustion::handler_and_retry<>> no_handler;
  EXPECT_THROW((void)new (no_handler) point, std::bad_alloc);
}

// The expression tests nothing where operator new may throw, so a null of the policy becomes the
// exception.
struct gives_up {
  using policy_kind = exhaustion_kind;
  static constexpr bool nothrow = false;
  static constexpr bool may_return_null = true;
  static constexpr bool borrows = false;

  template <class Retry>
  void* exhausted(const exhaustion_request&, Retry&&) {
    return nullptr;
  }
};
TEST(PlacementNew, ANullOfAPolicyThatMayThrowIsBadAlloc) {
  static_pool<point, 1, gives_up> pool;
  auto* const p = new (pool) point{1, 2};
  EXPECT_THROW((void)new (pool) point, std::bad_alloc);
  destroy_in(pool, p);
  destroy_in(pool, static_cast<point*>(nullptr));
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

// The classic arena gave a derived class too small a block.
TEST(PlacementNewDeathTest, AnObjectThatDoesNotFitIsRefused) {
  static_pool<point, 2> pool;
  struct derived : point {
    long more;
  };
  EXPECT_DEATH((void)new (pool) derived, "size or alignment");
  struct alignas(64) aligned {
    char c;
  };
  static_pool<char[64], 2> loose;
  EXPECT_DEATH((void)new (loose) aligned, "size or alignment");
}

}  // namespace
