#include <tests/support/test_headers.hpp>

#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/system_space.hpp>

// Which orders there are: core/lock_order_test.cpp. A heap whose source is a heap: heap_test.cpp.
namespace {

using namespace ashlar::detail;
using ashlar::os::mutex;

using caches_lock = ranked<mutex, lock_rank::caches>::type;
using pages_lock = ranked<mutex, lock_rank::pages>::type;

// A lock that looks at the order has the layout of one that does not, which is the mutex itself.
static_assert(sizeof(caches_lock) == sizeof(mutex));
static_assert(ashlar::locks_are_checked == !std::is_same_v<caches_lock, mutex>);
static_assert(ashlar::locks_are_checked == !std::is_empty_v<lock_level>);

/// A death test forks, and a fork takes the locks of heap instances. So the statement of a death
/// test takes all locks that it needs, and nobody holds one before.
class LockOrder : public testing::Test {
 protected:
  void SetUp() override {
    if (!ashlar::locks_are_checked) GTEST_SKIP() << "this build does not look at the order";
  }
  void take_low_while_holding_high() {
    const std::lock_guard guard(high_);
    low_.lock();
  }
  caches_lock low_;
  pages_lock high_;
};
using LockOrderDeathTest = LockOrder;

TEST_F(LockOrderDeathTest, ALockOutOfOrderEndsInAFaultThatNamesBoth) {
  EXPECT_DEATH(take_low_while_holding_high(), "ashlar: lock caches while holding pages\\(0x");
}

TEST_F(LockOrderDeathTest, ALockThatTheThreadHasIsToldInsteadOfWaitedFor) {
  const auto take_twice = [this] {
    high_.lock();
    high_.lock();
  };
  EXPECT_DEATH(take_twice(), "ashlar: lock pages while holding pages\\(0x");
}

TEST_F(LockOrder, TryLockNeverWaitsSoItIsNeverWrong) {
  const std::lock_guard guard(high_);
  ASSERT_TRUE(low_.try_lock());
  EXPECT_FALSE(low_.try_lock());
  low_.unlock();
}

TEST_F(LockOrderDeathTest, WhatTryLockTookIsHeld) {
  const auto try_and_take = [this] {
    if (high_.try_lock()) low_.lock();
  };
  EXPECT_DEATH(try_and_take(), "lock caches while holding pages");
}

TEST_F(LockOrder, EachThreadHasItsOwn) {
  const std::lock_guard guard(high_);
  std::thread([this] { const std::lock_guard other(low_); }).join();
}

TEST_F(LockOrderDeathTest, ALevelBeginsAnewAndEnds) {
  {
    const std::lock_guard guard(high_);
    const lock_level inner;
    const std::lock_guard other(low_);
  }
  const auto take_behind_the_level = [this] {
    const std::lock_guard guard(high_);
    {
      const lock_level inner;
    }
    low_.lock();
  };
  EXPECT_DEATH(take_behind_the_level(), "lock caches while holding pages");
  const auto take_in_the_level = [this] {
    const lock_level inner;
    take_low_while_holding_high();
  };
  EXPECT_DEATH(take_in_the_level(), "lock caches while holding pages");
}

struct config {
  using space = ashlar::os::system_space;
  using mutex = ashlar::os::mutex;
};

/// The heap's own locks look: one that is held across a call of the heap is found.
TEST_F(LockOrderDeathTest, AHeapLooksAtTheOrder) {
  static ashlar::basic_heap<config> heap;
  void* const block = heap.allocate_uncached(1);
  ASSERT_NE(block, nullptr);
  const auto holding_pages = [this](auto call) {
    const std::lock_guard guard(high_);
    call();
  };
  EXPECT_DEATH(holding_pages([] { static_cast<void>(heap.allocate_uncached(1)); }),
               "lock central while holding pages");
  EXPECT_DEATH(holding_pages([] { static_cast<void>(heap.attach()); }),
               "lock caches while holding pages");
  EXPECT_DEATH(holding_pages([] { heap.trim(); }), "lock scan while holding pages");
  heap.deallocate_uncached(block, "free");
}

}  // namespace
