// What each kind of pool tells a recorder, and when.
// Needs POSIX.

#include <tests/support/fixed_pools.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/pool/object_pool.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/static_pool.hpp>
#include <ashlar/pool/static_run_pool.hpp>

namespace {

using namespace ashlar;

struct told {
  enum class what { allocated, freed, refused } happened;
  const void* pool;
  std::string name;
  const void* address;
  std::size_t size, alignment;
};

/// Notes what it is told, and looks at the pool's own figures at that moment.
struct listener {
  std::vector<told> all;
  std::vector<std::size_t> in_use;  ///< at each call
  std::size_t (*figure)() = nullptr;

  void note(told::what happened, const recorded_pool& pool, const void* p, std::size_t size,
            std::size_t alignment) {
    all.push_back({happened, pool.id, pool.name == nullptr ? "-" : pool.name, p, size, alignment});
    if (figure != nullptr) in_use.push_back(figure());
  }
  void allocated(const recorded_pool& pool, const void* p, std::size_t size,
                 std::size_t alignment) noexcept {
    note(told::what::allocated, pool, p, size, alignment);
  }
  void freed(const recorded_pool& pool, const void* p) noexcept {
    note(told::what::freed, pool, p, 0, 0);
  }
  void refused(const recorded_pool& pool, std::size_t size, std::size_t alignment) noexcept {
    note(told::what::refused, pool, nullptr, size, alignment);
  }
};
listener heard;

using to_heard = recording::to<heard>;

struct PoolRecording : testing::Test {
  PoolRecording() { heard = {}; }

  static void expect(std::size_t i, told::what happened, const void* pool, const char* name,
                     const void* address, std::size_t size = 0, std::size_t alignment = 0) {
    ASSERT_LT(i, heard.all.size());
    const told& t = heard.all[i];
    EXPECT_EQ(t.happened, happened) << i;
    EXPECT_EQ(t.pool, pool) << i;
    EXPECT_EQ(t.name, name) << i;
    EXPECT_EQ(t.address, address) << i;
    EXPECT_EQ(t.size, size) << i;
    EXPECT_EQ(t.alignment, alignment) << i;
  }
};

struct alignas(8) block {
  unsigned char bytes[40];
};

// Off it is nothing, and on it is nothing in the pool.
static_assert(std::is_empty_v<recording::none> && std::is_empty_v<to_heard>);
static_assert(sizeof(static_pool<block, 5>) == sizeof(static_pool<block, 5, recording::none>));
static_assert(sizeof(static_pool<block, 5>) == sizeof(static_pool<block, 5, to_heard>));
static_assert(sizeof(static_pool_set<blocks<16, 3>, blocks<64, 3>>) ==
              sizeof(static_pool_set<blocks<16, 3>, blocks<64, 3>, to_heard>));
static_assert(sizeof(static_run_pool<block, 9>) == sizeof(static_run_pool<block, 9, to_heard>));
static_assert(std::is_trivially_destructible_v<static_pool<block, 5, to_heard>> ==
              std::is_trivially_destructible_v<static_pool<block, 5>>);

template <class Pool>
class PoolRecordingOf : public PoolRecording {};
template <class... Policies>
using recorded = static_pool<block, 3, to_heard, named<"three">, Policies...>;
using pools = testing::Types<recorded<>, recorded<check::none, counting::none>,
                             recorded<check::full<2>>, recorded<lock_free<>>, recorded<std::mutex>>;
TYPED_TEST_SUITE(PoolRecordingOf, pools);

TYPED_TEST(PoolRecordingOf, TellsItsBlocksWithTheirSizeAndAlignmentWhateverThePolicy) {
  TypeParam pool;
  void* const held[] = {pool.allocate(), pool.try_allocate(), pool.allocate()};
  EXPECT_EQ(pool.allocate(), nullptr);
  pool.deallocate(nullptr);
  for (void* p : held) pool.deallocate(p);
  ASSERT_EQ(heard.all.size(), 7u);
  for (std::size_t i = 0; i < 3; ++i) {
    this->expect(i, told::what::allocated, &pool, "three", held[i], 40, 8);
    this->expect(4 + i, told::what::freed, &pool, "three", held[i]);
  }
  this->expect(3, told::what::refused, &pool, "three", nullptr, 40, 8);
}

// The order in which a recorder hears of a block's births and deaths is that in which it changes
// hands: a birth is told when the block is taken, a death while it still is.
static_pool<block, 3, to_heard>* watched = nullptr;
TEST_F(PoolRecording, ABirthIsToldAfterABlockWasTakenAndADeathBeforeItIsFree) {
  static_pool<block, 3, to_heard> pool;
  watched = &pool;
  heard.figure = [] { return watched->stats().blocks_in_use; };
  void* const p = pool.allocate();
  pool.deallocate(p);
  EXPECT_EQ(heard.in_use, (std::vector<std::size_t>{1, 1}));
}

struct watched_lock {
  static inline bool held = false;
  void lock() { held = true; }
  void unlock() { held = false; }
};
TEST_F(PoolRecording, NobodyIsToldUnderALock) {
  heard.figure = [] { return std::size_t{watched_lock::held}; };
  static_pool<block, 3, to_heard, watched_lock> pool;
  static_pool_set<blocks<40, 3, 8>, to_heard, watched_lock> set;
  static_run_pool<block, 3, to_heard, watched_lock> runs;
  pool.deallocate(pool.allocate());
  set.deallocate(set.allocate(40, 8), 40, 8);
  set.deallocate(set.allocate(40, 8));
  runs.deallocate(runs.allocate(2));
  EXPECT_EQ(heard.in_use, std::vector<std::size_t>(8, 0));
}

TEST_F(PoolRecording, ObjectsAreToldLikeBlocks) {
  alignas(block) static std::byte storage[400];
  object_pool<block, to_heard> pool(storage);
  block* const object = pool.create();
  pool.make().reset();
  pool.destroy(object);
  ASSERT_EQ(heard.all.size(), 4u);
  expect(0, told::what::allocated, &pool, "-", object, 40, 8);
  expect(3, told::what::freed, &pool, "-", object);
}

TEST_F(PoolRecording, ASetTellsWhatWasAskedForAndNotItsClass) {
  static_pool_set<blocks<32, 1>, blocks<64, 1>, spill::take_larger, to_heard, named<"set">> set;
  void* const a = set.allocate(20, 4);
  void* const b = set.allocate(20, 4);  // the larger class serves: one request, one birth
  EXPECT_EQ(set.allocate(50), nullptr);
  set.deallocate(b, 20, 4);
  set.deallocate(a);
  set.deallocate(nullptr);
  set.deallocate(nullptr, 20, 4);
  ASSERT_EQ(heard.all.size(), 5u);
  expect(0, told::what::allocated, &set, "set", a, 20, 4);
  expect(1, told::what::allocated, &set, "set", b, 20, 4);
  expect(2, told::what::refused, &set, "set", nullptr, 50, alignof(std::max_align_t));
  expect(3, told::what::freed, &set, "set", b);
  expect(4, told::what::freed, &set, "set", a);
}

struct no_memory {
  void* allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
};
TEST_F(PoolRecording, ASetWithoutMemoryRefuses) {
  pool_set<blocks<32, 1>, no_memory, to_heard> set;
  EXPECT_EQ(set.allocate(20, 8), nullptr);
  ASSERT_EQ(heard.all.size(), 1u);
  expect(0, told::what::refused, &set, "-", nullptr, 20, 8);
}

TEST_F(PoolRecording, ARunPoolTellsArrays) {
  static_run_pool<block, 8, to_heard> pool;
  void* const three = pool.allocate(3);
  void* const one = pool.allocate(0);
  EXPECT_EQ(pool.allocate(SIZE_MAX), nullptr);
  pool.deallocate(three);
  pool.deallocate(nullptr);
  ASSERT_EQ(heard.all.size(), 4u);
  expect(0, told::what::allocated, &pool, "-", three, 120, 8);
  expect(1, told::what::allocated, &pool, "-", one, 40, 8);
  expect(2, told::what::refused, &pool, "-", nullptr, SIZE_MAX, 8);
  expect(3, told::what::freed, &pool, "-", three);
}

// What is borrowed is the lender's to tell, once.
TEST_F(PoolRecording, ABorrowedBlockIsItsLenders) {
  struct wide {
    block two[2];
  };
  using lender = static_pool<wide, 1, to_heard, named<"lender">>;
  lender large;
  static_pool<block, 1, to_heard, named<"small">, exhaustion::next_larger<lender>> small{
      exhaustion::next_larger<lender>(large)};
  void* const own = small.allocate();
  void* const borrowed = small.allocate();
  small.deallocate(borrowed);
  small.deallocate(own);
  ASSERT_EQ(heard.all.size(), 5u);
  expect(0, told::what::allocated, &small, "small", own, 40, 8);
  expect(1, told::what::refused, &small, "small", nullptr, 40, 8);
  expect(2, told::what::allocated, &large, "lender", borrowed, 80, 8);
  expect(3, told::what::freed, &large, "lender", borrowed);
  expect(4, told::what::freed, &small, "small", own);
}

TEST_F(PoolRecording, WhatAHandlerFreedIsToldBeforeTheRetry) {
  using pool_type =
      static_pool<block, 1, to_heard,
                  exhaustion::handler_and_retry<exhaustion::null, exhaustion::own_handler>>;
  static pool_type pool;
  static void* held = nullptr;
  pool.exhaustion_policy_object().source.handler = [] {
    pool.deallocate(std::exchange(held, nullptr));
  };
  held = pool.allocate();
  void* const again = pool.allocate();
  ASSERT_EQ(heard.all.size(), 4u);
  EXPECT_EQ(heard.all[1].happened, told::what::refused);
  EXPECT_EQ(heard.all[2].happened, told::what::freed);
  expect(3, told::what::allocated, &pool, "-", again, 40, 8);
  pool.deallocate(again);
}

}  // namespace
