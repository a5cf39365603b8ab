#include "tools/files/files.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ashlar::files {
namespace {

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

TEST(ScratchDirectory, GoesAwayWithWhatIsInIt) {
  std::string path;
  {
    const scratch_directory scratch;
    path = scratch.path();
    std::ofstream(path + "/file") << "x";
    EXPECT_EQ(::access((path + "/file").c_str(), F_OK), 0);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace ashlar::files
