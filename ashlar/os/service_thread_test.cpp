// A thread that serves, and the bell that it sleeps on.
// Needs Linux.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <tests/support/emulated.hpp>

#include <gtest/gtest.h>
#include <pthread.h>

#include <ashlar/os/service_thread.hpp>

namespace {

using namespace ashlar::os;

constexpr unsigned long_ms = 60'000;

std::atomic<bool> go_on{false};
bell door;
char name[16];
sigset_t blocked;

TEST(ServiceThread, HasItsNameAndBlocksSignals) {
  service_thread t;
  errno = 1234;
  ASSERT_TRUE(t.start([]() noexcept {
    ::pthread_getname_np(::pthread_self(), name, sizeof name);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  }));
  ASSERT_TRUE(t.join_within(long_ms));
  EXPECT_EQ(errno, 1234);
  EXPECT_STREQ(name, "ashlar");
  for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGSEGV, SIGCHLD, SIGRTMIN, SIGRTMAX}) {
    // An emulator keeps some for itself.
    if (support::emulated && (signal == SIGSEGV || signal == SIGRTMAX)) continue;
    EXPECT_EQ(::sigismember(&blocked, signal), 1) << signal;
  }
  sigset_t own;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(::sigismember(&own, SIGINT), 0) << "the starter's are as they were";
}

TEST(ServiceThread, JoiningGivesUp) {
  static bell held;
  service_thread t;
  go_on = false;
  ASSERT_TRUE(t.start([]() noexcept {
    while (!go_on) held.wait(bell::for_ever);
  }));
  EXPECT_FALSE(t.join_within(1));
  EXPECT_FALSE(t.join_within(1'001)) << "more than a second, for the carry";
  go_on = true;
  held.ring();
  EXPECT_TRUE(t.join_within(long_ms));
}

TEST(Bell, ARingIsKeptOnce) {
  bell b;
  errno = 1234;
  b.ring();
  b.ring();
  b.wait(bell::for_ever);  // or the test would hang
  b.wait(1);               // the second ring was the first
  b.ring();
  b.reset();
  b.wait(1);
  EXPECT_EQ(errno, 1234);
}

TEST(Bell, WakesWhoeverWaits) {
  static std::atomic<int> rounds{0};
  service_thread t;
  ASSERT_TRUE(t.start([]() noexcept {
    for (; rounds < 1'000; ++rounds) door.wait(bell::for_ever);
  }));
  while (rounds < 1'000) door.ring();
  EXPECT_TRUE(t.join_within(long_ms));
}

}  // namespace
