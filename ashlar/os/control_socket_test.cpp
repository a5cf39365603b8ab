// Needs Linux.
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tests/support/emulated.hpp>
#include <tests/support/sanitizers.hpp>
#include <thread>

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <ashlar/core/control_protocol.hpp>
#include <ashlar/os/control_socket.hpp>

namespace ashlar::os {
namespace {

constexpr std::size_t large_answer = 3'000'000;

bool answer(const char* request, std::size_t peer, std::FILE* out) noexcept {
  if (std::strcmp(request, "who") == 0) std::fprintf(out, "%zu", peer);
  if (std::strcmp(request, "large") == 0)
    for (std::size_t i = 0; i < large_answer; ++i) std::fputc('a' + static_cast<int>(i % 26), out);
  if (std::strcmp(request, "files") == 0) {
    DIR* const all = ::opendir("/proc/thread-self/fd");
    int count = 0;
    while (all != nullptr && ::readdir(all) != nullptr) ++count;
    if (all != nullptr) ::closedir(all);
    std::fprintf(out, "%d", count - 2 - 1);  // ".", "..", and that of the folder itself
  }
  return std::strcmp(request, "fail") != 0;
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

/// A socket that a thread serves, in a folder of the test's own.
class ControlSocket : public testing::Test {
 protected:
  void SetUp() override {
    if (support::thread_sanitizer)
      GTEST_SKIP() << "it takes equal numbers in two tables of descriptors for one descriptor";
    std::string name = testing::TempDir() + "ctlXXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    path = folder + "/own.sock";
  }
  void TearDown() override {
    stop();
    ::unlink(path.c_str());
    ::rmdir(folder.c_str());
  }

  /// Returns: the error's number.
  int start() {
    opened = -1;
    must_end = false;
    server = std::thread([this] {
      const control_socket::opening result = socket.open({.pattern = path.c_str()});
      opened = result.error;
      if (result.error == 0) socket.serve(answer, must_end);
    });
    while (opened == -1) std::this_thread::yield();
    if (opened != 0) server.join();
    return opened;
  }
  void stop() {
    if (!server.joinable()) return;
    must_end = true;
    socket.wake();
    server.join();
  }

  [[nodiscard]] int connected() const {
    const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(path);
    EXPECT_EQ(::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return file;
  }
  [[nodiscard]] std::string ask(const std::string& request) const {
    const int file = connected();
    EXPECT_EQ(::send(file, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string all;
    char part[1000];
    for (ssize_t got = 0; (got = ::recv(file, part, sizeof part, 0)) > 0;)
      all.append(part, static_cast<std::size_t>(got));
    ::close(file);
    return all;
  }

  std::string folder, path;
  control_socket socket;
  std::atomic<bool> must_end{false};
  std::atomic<int> opened{-1};
  std::thread server;
};

TEST_F(ControlSocket, AnswersWithALengthInALineOfOneLength) {
  ASSERT_EQ(start(), 0);
  const std::string who = std::to_string(::getpid());
  std::string head = "ashlar 1 ok    0000000000000000\n";
  EXPECT_EQ(head.size(), control_protocol::head_bytes);
  EXPECT_EQ(ask("ashlar 1 nothing\n"), head);
  head.replace(31 - 1, 1, std::to_string(who.size()));
  EXPECT_EQ(ask("ashlar 1 who\n"), head + who);
  EXPECT_EQ(ask("ashlar 1 fail\n"), "ashlar 1 error 0000000000000000\n");
}

TEST_F(ControlSocket, AnAnswerThatIsLargerThanAPipeIsWhole) {
  ASSERT_EQ(start(), 0);
  const std::string all = ask("ashlar 1 large\n");
  ASSERT_EQ(all.size(), control_protocol::head_bytes + large_answer);
  for (std::size_t i = 0; i < large_answer; ++i)
    ASSERT_EQ(all[control_protocol::head_bytes + i], static_cast<char>('a' + i % 26));
}

TEST_F(ControlSocket, AReaderThatWaitsKeepsNobodyWaiting) {
  ASSERT_EQ(start(), 0);
  const int slow = connected();
  ASSERT_EQ(::send(slow, "ashlar 1 large\n", 15, MSG_NOSIGNAL), 15);
  EXPECT_EQ(ask("ashlar 1 nothing\n").size(), control_protocol::head_bytes);
  ::close(slow);  // most of the answer has nowhere to go now
  EXPECT_EQ(ask("ashlar 1 nothing\n").size(), control_protocol::head_bytes);
}

TEST_F(ControlSocket, TheThreadHasOnlyDescriptorsOfItsOwn) {
  if (support::emulated && std::endian::native == std::endian::big)
    GTEST_SKIP() << "qemu turns bytes by a descriptor's number, whichever table it is of";
  const int before = ::dup(STDIN_FILENO);
  ASSERT_EQ(start(), 0);
  // Streams, the socket, the bell, and the client.
  EXPECT_EQ(ask("ashlar 1 files\n").substr(control_protocol::head_bytes), "6");
  const int after = ::dup(STDIN_FILENO);
  EXPECT_EQ(after, before + 1) << "the thread has taken a number of the process";
  ::close(before);
  ::close(after);
}

TEST_F(ControlSocket, TheNameIsGoneAfterTheEndAndComesAgain) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(start(), 0);
    EXPECT_EQ(::access(path.c_str(), F_OK), 0);
    stop();
    EXPECT_NE(::access(path.c_str(), F_OK), 0);
  }
}

TEST_F(ControlSocket, ANameThatIsAnothersStays) {
  ASSERT_EQ(start(), 0);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  std::fclose(std::fopen(path.c_str(), "w"));
  stop();
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  EXPECT_EQ(start(), EEXIST) << "a file that is no socket is nobody's to remove";
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
}

TEST_F(ControlSocket, ADeadSocketIsReplacedAndALiveOneIsNot) {
  const sockaddr_un address = address_of(path);
  const int other = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(other, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(other, 1), 0);
  EXPECT_EQ(start(), EADDRINUSE);
  ::close(other);
  EXPECT_EQ(start(), 0);
  EXPECT_EQ(ask("ashlar 1 nothing\n").size(), control_protocol::head_bytes);
}

}  // namespace
}  // namespace ashlar::os
