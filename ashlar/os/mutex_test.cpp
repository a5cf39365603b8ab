#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/os/mutex.hpp>

namespace {

using ashlar::os::mutex;

// Needs no initialisation at run time: what makes a heap usable before static constructors.
constinit mutex global;
static_assert(sizeof(mutex) == 4);

TEST(Mutex, ExcludesOthers) {
  constexpr int threads = 4, rounds = 50'000;
  long plain = 0;  // a data race, and a wrong sum, unless the lock works
  int inside = 0;
  std::atomic<int> seen_together{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        const std::lock_guard guard(global);
        if (++inside != 1) ++seen_together;
        ++plain;
        --inside;
      }
    });
  }
  for (std::thread& w : workers) w.join();
  EXPECT_EQ(plain, long{threads} * rounds);
  EXPECT_EQ(seen_together, 0);
}

TEST(Mutex, WakesWhoSleeps) {
  mutex m;
  long plain = 0;
  std::vector<std::thread> workers;
  m.lock();
  for (int t = 0; t < 4; ++t) {
    workers.emplace_back([&] {
      for (int i = 0; i < 3; ++i) {
        const std::lock_guard guard(m);
        ++plain;
        // Held for much longer than anybody spins.
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(plain, 0);
  m.unlock();
  for (std::thread& w : workers) w.join();
  EXPECT_EQ(plain, 12);
}

TEST(Mutex, TryLockSucceedsOnlyWhenFree) {
  mutex m;
  ASSERT_TRUE(m.try_lock());
  EXPECT_FALSE(m.try_lock());
  std::thread([&] { EXPECT_FALSE(m.try_lock()); }).join();
  m.unlock();
  EXPECT_TRUE(m.try_lock());
  m.unlock();
  m.lock();
  EXPECT_FALSE(m.try_lock());
  EXPECT_FALSE(m.is_alone());
  m.unlock();
  std::thread([&] { EXPECT_FALSE(m.is_alone()) << "the other thread may take it"; }).join();
}

TEST(Mutex, KeepsErrnoWhenItWaits) {
  mutex m;
  m.lock();
  std::atomic<int> after{-1};
  std::thread waiter([&] {
    errno = 1234;
    m.lock();
    after = errno;
    m.unlock();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  errno = 99;
  m.unlock();
  EXPECT_EQ(errno, 99);
  waiter.join();
  EXPECT_EQ(after, 1234);
}

}  // namespace
