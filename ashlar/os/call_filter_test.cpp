// Needs Linux.
// Whether a sandbox that came after the start is seen, and what the library needs there is known
// without a system call.
#include <thread>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/process.hpp>

namespace {

using namespace ashlar;

/// Effects: a filter that allows everything. Returns: false where the system has none.
bool add_filter() {
  sock_filter allow[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog program{1, allow};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Returns: what the function returns in a child of a fork: a filter stays until the process ends.
template <class Function>
int in_child(Function function) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(function());
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int cannot = 77;

TEST(CallFilter, OneThatComesAfterTheStartIsSeen) {
  const int got = in_child([] {
    const bool before_it_asked = os::has_new_call_filter();
    os::note_call_filters();
    const bool before = os::has_new_call_filter();
    if (!add_filter()) return cannot;
    os::note_call_filters();  // too late
    return before_it_asked || before || !os::has_new_call_filter() ? 1 : 0;
  });
  if (got == cannot) GTEST_SKIP() << "no filters here";
  EXPECT_EQ(got, 0);
}

TEST(CallFilter, OneThatWasThereBeforeIsNot) {
  const int got = in_child([] {
    if (!add_filter()) return cannot;
    os::note_call_filters();
    const bool of_container = os::has_new_call_filter();
    static_cast<void>(add_filter());
    return of_container || !os::has_new_call_filter() ? 1 : 0;
  });
  if (got == cannot) GTEST_SKIP() << "no filters here";
  EXPECT_EQ(got, 0);
}

TEST(CallFilter, NumbersAreTheSystemsInThreadsAndChildren) {
  const auto is_right = [] {
    return os::new_thread_number() == static_cast<std::size_t>(::syscall(SYS_gettid));
  };
  EXPECT_TRUE(is_right());
  bool in_thread = false;
  std::thread([&] { in_thread = is_right(); }).join();
  EXPECT_TRUE(in_thread);
  EXPECT_EQ(in_child([&] {
              os::note_process_number();
              return is_right() && os::process_number() == static_cast<std::size_t>(::getpid()) ? 0
                                                                                                : 1;
            }),
            0);
}

}  // namespace
