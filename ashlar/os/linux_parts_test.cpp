// The tests of what Linux alone has: a part for each source, with its name.
// Needs Linux.
#include <tests/support/in_child.hpp>
#include <tests/support/test_headers.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/core/control_protocol.hpp>
#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/call_stack.hpp>
#include <ashlar/os/control_socket.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/os/service_thread.hpp>

namespace ashlar::os {
namespace {

// ---- call_filter -------------------------------------------------------------------------------
// Whether a sandbox that came after the start is seen, and what the library needs there is known
// without a system call.

/// Effects: a filter that allows everything. Returns: false where the system has none.
bool add_filter() {
  sock_filter allow[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog program{1, allow};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

using support::exit_status_of;  // in a child: a filter stays until the process ends

constexpr int cannot = 77;

TEST(CallFilter, OneThatComesAfterTheStartIsSeen) {
  const int got = exit_status_of([] {
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
  const int got = exit_status_of([] {
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
  EXPECT_EQ(exit_status_of([&] {
              os::note_process_number();
              return is_right() && os::process_number() == static_cast<std::size_t>(::getpid()) ? 0
                                                                                                : 1;
            }),
            0);
}

// ---- call_stack --------------------------------------------------------------------------------
// Where a call came from: the caller's frame comes first, whatever finds it.

/// Returns: the address of code, without Thumb's mark in its lowest bit.
const void* code_at(const void* address) {
#ifdef __thumb__
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(address) &
                                       ~std::uintptr_t{1});
#else
  return address;
#endif
}

/// Returns: where it returns to, which is the second frame if its own is the first.
[[gnu::noinline]] const void* capture_here(os::call_stack& stack) {
  os::capture(stack, os::call_stack::depth_max);
  return __builtin_return_address(0);
}
[[gnu::noinline]] const void* capture_frames_here(const void** frames, unsigned& depth) {
  depth = os::capture_frames(frames, os::frames_max);
  return __builtin_return_address(0);
}

TEST(CallStack, BeginsAtTheCaller) {
  os::call_stack stack;
  const void* const behind = capture_here(stack);
  ASSERT_GT(stack.depth, 3u);
  EXPECT_EQ(stack.frames[1], code_at(behind));
  const void* frames[os::frames_max];
  unsigned depth = 0;
  const void* const behind_frames = capture_frames_here(frames, depth);
  ASSERT_GT(depth, 3u);
  EXPECT_EQ(frames[1], code_at(behind_frames));
}

TEST(CallStack, HasAsManyFramesAsAreWanted) {
  os::call_stack stack;
  os::capture(stack, 2);
  EXPECT_EQ(stack.depth, 2u);
  os::capture(stack, 0);
  EXPECT_EQ(stack.depth, 0u);
}

// ---- control_socket ----------------------------------------------------------------------------

constexpr std::size_t large_answer = 3'000'000;

bool answer(const char*, std::size_t, std::FILE* out) noexcept {
  for (std::size_t i = 0; i < large_answer; ++i) std::fputc('a' + static_cast<int>(i % 26), out);
  return true;
}

std::atomic<int> listen_delay_ms{0};

}  // namespace

/// The system's, later.
extern "C" int listen(int file, int backlog) noexcept {
  ::poll(nullptr, 0, listen_delay_ms);
  return static_cast<int>(::syscall(SYS_listen, file, backlog));
}

namespace {

int connected_to(const std::string& path) {
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return file;
}

// What a socket answers besides, whom it waits for and whose names it takes: tests/control.
TEST(ControlSocket, WhoSeesItsNameIsServedAndALargeAnswerIsWhole) {
  if (support::thread_sanitizer)
    GTEST_SKIP() << "it takes equal numbers in two tables of descriptors for one descriptor";
  std::string folder = testing::TempDir() + "ctlXXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/own.sock";
  control_socket socket;
  std::atomic<bool> must_end{false};
  listen_delay_ms = 10;
  std::thread server([&] {
    EXPECT_EQ(socket.open({.pattern = path.c_str()}).error, 0);
    socket.serve(answer, must_end);
  });
  while (::access(path.c_str(), F_OK) != 0) std::this_thread::yield();
  const int file = connected_to(path);
  listen_delay_ms = 0;
  EXPECT_EQ(::send(file, "ashlar 1 large\n", 15, MSG_NOSIGNAL), 15);
  std::string all;
  char part[1000];
  for (ssize_t got = 0; (got = ::recv(file, part, sizeof part, 0)) > 0;)
    all.append(part, static_cast<std::size_t>(got));
  ::close(file);
  ASSERT_EQ(all.size(), control_protocol::head_bytes + large_answer) << "more than a pipe holds";
  for (std::size_t i = 0; i < large_answer; ++i)
    ASSERT_EQ(all[control_protocol::head_bytes + i], static_cast<char>('a' + i % 26));
  must_end = true;
  socket.wake();
  server.join();
  ::rmdir(folder.c_str());
}

// ---- service_thread ----------------------------------------------------------------------------
// A thread that serves, and the bell that it sleeps on.

constexpr unsigned long_ms = 60'000;

std::atomic<bool> go_on{false};
bell door;

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

}  // namespace ashlar::os
