// What a process is told of itself: its environment, and the ends of its threads.
#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/os/process.hpp>

namespace {

using namespace ashlar;

constinit os::thread_end first, second;
std::atomic<int> first_ends = 0, second_ends = 0;
thread_local int of_this_thread = 0;

TEST(ThreadEnd, IsToldOnTheThreadWithItsOwnValue) {
  first.start([](void* value) noexcept {
    EXPECT_EQ(*static_cast<int*>(value), of_this_thread) << "thread-local objects are there still";
    ++first_ends;
  });
  second.start([](void*) noexcept { ++second_ends; });
  std::array<int, 3> values{};
  std::array<std::thread, 3> threads;
  for (int i = 0; i < 3; ++i)
    threads[static_cast<std::size_t>(i)] = std::thread([&values, i] {
      int& own = values[static_cast<std::size_t>(i)];
      of_this_thread = own = i + 1;
      EXPECT_TRUE(first.watch(&own));
      if (i == 0) {
        EXPECT_TRUE(second.watch(&own));
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(first_ends, 3);
  EXPECT_EQ(second_ends, 1) << "a thread that is not watched is not told of";
}

TEST(Process, KnowsItsEnvironmentAndItsNumber) {
  ASSERT_NE(os::environment(), nullptr);
  EXPECT_NE(os::environment()[0], nullptr);
  EXPECT_NE(os::process_number(), 0u);
  EXPECT_FALSE(os::has_more_rights()) << "the tests are not set-user-ID";
}

}  // namespace
