// The tests of the sources of tools/files: a part for each, with its name.

#include <tests/support/test_headers.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "tools/files/error.hpp"
#include "tools/files/replaced_files.hpp"

namespace ashlar::files {
namespace {

// ---- files -------------------------------------------------------------------------------------

// A pipe takes a part, then nothing until it is read from: a signal ends the one call early, the
// next without a byte.
TEST(WriteAll, SignalsInterruptItAndAllIsWritten) {
  struct sigaction noticed{};
  struct sigaction before{};
  noticed.sa_handler = [](int) {};  // without SA_RESTART
  ::sigaction(SIGUSR1, &noticed, &before);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  std::string bytes(1'000'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 8);
  std::string got;
  const pthread_t writer = ::pthread_self();
  std::thread reader([&] {
    const int capacity = ::fcntl(ends[0], F_GETPIPE_SZ);
    for (int waits = 0; waits < capacity;) ::ioctl(ends[0], FIONREAD, &waits);
    for (int i = 0; i < 20; ++i) {
      ::pthread_kill(writer, SIGUSR1);
      ::usleep(1000);
    }
    std::array<char, 10'000> piece{};
    while (got.size() < bytes.size()) {
      const ssize_t count = ::read(ends[0], piece.data(), piece.size());
      if (count <= 0) break;
      got.append(piece.data(), static_cast<std::size_t>(count));
      if (got.size() < bytes.size() / 2) ::pthread_kill(writer, SIGUSR1);
    }
    ::close(ends[0]);  // should bytes be missing, the writer waits for nobody
  });
  EXPECT_EQ(write_all(ends[1], bytes), 0);
  ::close(ends[1]);
  reader.join();
  EXPECT_TRUE(got == bytes) << got.size();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(WriteAll, WhyItCannotIsReturned) {
  const open_file full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(write_all(full.descriptor(), "a"), ENOSPC);
  EXPECT_EQ(write_all(-1, "a"), EBADF);
  EXPECT_EQ(write_all(-1, ""), 0);
}

// ---- replaced_files ----------------------------------------------------------------------------

// What ashlar writes begins with words of its own, and may be replaced.
const std::string mark = "ashlar-trace-text ";

std::string contents_of(const std::string& path) {
  return read_whole(open_file(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
}

std::ptrdiff_t files_in(const std::string& folder) {
  const std::filesystem::directory_iterator all(folder);
  return std::distance(begin(all), end(all));
}

TEST(ReplacedFiles, WhatCannotBeWrittenIsFoundAtOnceAndOldContentsLastUntilCommit) {
  replaced_files none;
  EXPECT_THROW(none.prepare("--json", "/no/such/folder/x"), command_error);
  const scratch_directory scratch;
  const std::string path = scratch.path() + "/report";
  for (const std::string& contents : {mark + "a long first report", mark + "short"}) {
    const std::string before = contents_of(path);
    replaced_files files;
    files.prepare("--json", path);
    EXPECT_EQ(contents_of(path), before);
    files.write(0, contents);
    EXPECT_EQ(contents_of(path), before);
    files.commit();
    EXPECT_EQ(contents_of(path), contents);
  }
  {
    replaced_files dropped;
    dropped.prepare("--json", path);
    dropped.write(0, "half");
  }
  EXPECT_EQ(contents_of(path), mark + "short");
  EXPECT_EQ(files_in(scratch.path()), 1);
}

TEST(ReplacedFiles, ASignalLeavesNothingTemporary) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    const scratch_directory scratch;
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit no_core{0, 0};
      ::setrlimit(RLIMIT_CORE, &no_core);
      replaced_files files;
      constexpr int most = 40;  // `ashlar help --pages` has a page for each command
      for (int i = 0; i < most; ++i) files.prepare("-o", fmt::format("{}/{}", scratch.path(), i));
      files.write(0, "half");
      // Another process's signal, as of a program that is just being started, has no effect on
      // these.
      if (::fork() == 0) ::raise(number);
      ::wait(nullptr);
      if (files_in(scratch.path()) != most) ::_exit(1);
      ::raise(number);
      ::_exit(2);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
    EXPECT_EQ(files_in(scratch.path()), 0) << number;
  }
}

}  // namespace

}  // namespace ashlar::files
