// Faults of the test's own children: what the watcher is told, and who is asked when it is not its
// own. Needs POSIX.

#include <tests/support/test_headers.hpp>

#include <unistd.h>

#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/access_fault.hpp>
#include <ashlar/os/system_space.hpp>

namespace {

using namespace ashlar;

constexpr std::size_t page = 65'536;  // a multiple of every system's

volatile char* closed_page() {
  static void* const p = os::system_space::reserve(page);
  return static_cast<volatile char*>(p);
}

void say(const char* text) {
  line_writer<128> line;
  line << text;
  line.end_line();
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

/// Takes what is in the closed page for its own.
void tell_and_exit(const os::access_fault& f) noexcept {
  const auto* const p = static_cast<const char*>(f.address);
  if (p < closed_page() || p >= closed_page() + page) return;
  line_writer<128> line;
  line << os::name_of(f.kind) << " of byte " << static_cast<std::size_t>(p - closed_page());
  line << (f.instruction != nullptr ? ", by a known instruction" : "");
  line.end_line();
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(7);
}
void say_no(const os::access_fault&) noexcept { say("not the watcher's"); }

void take(int signal, void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGUSR1);
  ::sigaction(signal, &action, nullptr);
}
void say_where_and_exit(int signal, siginfo_t* info, void*) {
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  say(info->si_addr == const_cast<char*>(closed_page()) && signal == SIGSEGV &&
              sigismember(&blocked, SIGUSR1) == 1
          ? "the other handler, with the address and its mask"
          : "the other handler");
  ::_exit(8);
}

/// Effects: the watcher is told of access faults from now on; ends with 1 where there is none.
void watch(os::access_watcher watcher) {
  if (!os::watch_access_faults(watcher)) ::_exit(1);
}
void watch_and_write(os::access_watcher watcher, std::size_t at = 0) {
  watch(watcher);
  closed_page()[at] = 1;
}

using AccessFaultDeathTest = testing::Test;

TEST(AccessFaultDeathTest, TheWatcherIsToldOfReadsAndWrites) {
#if defined(__x86_64__) || defined(__aarch64__)
  const char* const read = "^read of byte 5, by a known instruction\n$";
  const char* const write = "^write of byte 6, by a known instruction\n$";
#elif defined(__s390x__)  // the processor tells the page only
  const char* const read = "of byte 0";
  const char* const write = "of byte 0";
#else
  const char* const read = "of byte 5";
  const char* const write = "of byte 6";
#endif
  EXPECT_EXIT((watch(tell_and_exit), static_cast<void>(closed_page()[5])),
              testing::ExitedWithCode(7), read);
  EXPECT_EXIT(watch_and_write(tell_and_exit, 6), testing::ExitedWithCode(7), write);
}

TEST(AccessFaultDeathTest, OnTheStackForHandlersWhereThereIsOne) {
  EXPECT_EXIT(
      {
        static char room[1 << 16];
        stack_t other = {};
        other.ss_sp = room;
        other.ss_size = sizeof room;
        ::sigaltstack(&other, nullptr);
        const auto on_it = [](const os::access_fault&) noexcept {
          const auto at = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
          const auto begin = reinterpret_cast<std::uintptr_t>(room);
          ::_exit(at - begin < sizeof room ? 7 : 1);
        };
        watch_and_write(on_it);
      },
      testing::ExitedWithCode(7), "");
}

#ifndef __SANITIZE_ADDRESS__
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OTHER_HANDLERS
#endif
#endif
#else
#define HAS_OTHER_HANDLERS
#endif

#ifndef HAS_OTHER_HANDLERS  // a sanitizer's handler is there before us
TEST(AccessFaultDeathTest, WhatIsNotItsOwnEndsAsWithoutIt) {
  EXPECT_EXIT(watch_and_write(say_no), testing::KilledBySignal(SIGSEGV), "^not the watcher's\n$");
  for (const int signal : {SIGSEGV, SIGBUS}) {
    EXPECT_EXIT((watch(say_no), ::kill(::getpid(), signal), ::_exit(1)),
                testing::KilledBySignal(signal), "^$")
        << "a signal that was sent is no access";
  }
}
#endif

TEST(AccessFaultDeathTest, TheHandlerThatWasThereIsAskedNext) {
  EXPECT_EXIT(
      {
        take(SIGSEGV, say_where_and_exit);
        watch_and_write(say_no);
      },
      testing::ExitedWithCode(8),
      "^not the watcher's\nthe other handler, with the address and its mask\n$");
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, [](int) {
          say("the plain one");
          ::_exit(8);
        });
        watch_and_write(say_no);
      },
      testing::ExitedWithCode(8), "^not the watcher's\nthe plain one\n$");
}

TEST(AccessFaultDeathTest, SentSignalsThatWereIgnoredStaySo) {
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, SIG_IGN);
        watch(say_no);
        ::raise(SIGSEGV);
        ::raise(SIGSEGV);
        ::_exit(9);
      },
      testing::ExitedWithCode(9), "^$");
}

TEST(AccessFaultDeathTest, AProgramThatTakesTheSignalLaterHasIt) {
  EXPECT_EXIT(
      {
        watch(tell_and_exit);
        take(SIGSEGV, say_where_and_exit);
        closed_page()[0] = 1;
      },
      testing::ExitedWithCode(8), "^the other handler, with the address and its mask\n$");
}

}  // namespace
