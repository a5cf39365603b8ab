// What pages/address_space.hpp promises of each function, asked of the system's implementation.
// Needs Linux.
#include <tests/support/test_headers.hpp>

#include <sched.h>
#include <sys/mman.h>

#include <ashlar/os/system_space.hpp>
#include <ashlar/pages/address_space.hpp>

namespace {

using ashlar::os::resident_bytes;
using ashlar::os::system_space;
static_assert(ashlar::address_space<system_space>);

constexpr std::size_t mib = std::size_t{1} << 20;  // whole pages of every system
const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

/// A reservation that ends with its scope.
struct reservation {
  reservation(void* at, std::size_t n) : p(static_cast<char*>(at)), bytes(n) {}
  ~reservation() { system_space::release(p, bytes); }
  reservation(const reservation&) = delete;
  reservation& operator=(const reservation&) = delete;

  char* p;
  std::size_t bytes;
};

bool all_are(const char* p, std::size_t n, char value) {
  return std::all_of(p, p + n, [value](char c) { return c == value; });
}

char read(const char* p) { return *static_cast<const volatile char*>(p); }
void write(char* p, char value) { *static_cast<volatile char*>(p) = value; }

/// A sanitizer turns the signal into its own report and an exit status of failure.
bool died_of_access(int status) {
  return (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) ||
         (WIFEXITED(status) && WEXITSTATUS(status) != 0);
}

TEST(SystemSpaceDeathTest, ReservedAddressesMayNotBeTouched) {
  const reservation r(system_space::reserve(mib), mib);
  ASSERT_NE(r.p, nullptr);
  EXPECT_EXIT(static_cast<void>(read(r.p)), died_of_access, "");
  EXPECT_EXIT(write(r.p + mib - 1, 1), died_of_access, "");
}

TEST(SystemSpaceDeathTest, ReservedZerosAreReadButNotWritten) {
  const reservation r(system_space::reserve_zeros(mib), mib);
  ASSERT_NE(r.p, nullptr);
  EXPECT_TRUE(all_are(r.p, mib, 0));
  EXPECT_EXIT(write(r.p + page + 904, 1), died_of_access, "");
  ASSERT_TRUE(system_space::commit(r.p + page, page));
  EXPECT_TRUE(all_are(r.p, mib, 0));
  std::memset(r.p + page, 1, page);
  EXPECT_EXIT(write(r.p + page - 1, 1), died_of_access, "");
  EXPECT_EXIT(write(r.p + 2 * page, 1), died_of_access, "");
}

TEST(SystemSpaceDeathTest, CommitReachesExactlyWhatItWasGiven) {
  const reservation r(system_space::reserve(mib), mib);
  ASSERT_NE(r.p, nullptr);
  ASSERT_TRUE(system_space::commit(r.p + page, 2 * page));
  EXPECT_TRUE(all_are(r.p + page, 2 * page, 0)) << "never used, so zero";
  std::memset(r.p + page, 7, 2 * page);
  EXPECT_EXIT(static_cast<void>(read(r.p + page - 1)), died_of_access, "");
  EXPECT_EXIT(static_cast<void>(read(r.p + 3 * page)), died_of_access, "");
}

TEST(SystemSpace, PurgedAndRenewedPagesReadAsZeroAndStayWritable) {
  const reservation r(system_space::reserve(mib), mib);
  ASSERT_TRUE(system_space::commit(r.p, mib));
  std::memset(r.p, 7, mib);
  ASSERT_TRUE(system_space::purge(r.p + page, 2 * page));
  EXPECT_TRUE(all_are(r.p, page, 7));
  EXPECT_TRUE(all_are(r.p + page, 2 * page, 0));
  EXPECT_TRUE(all_are(r.p + 3 * page, mib - 3 * page, 7));
  std::memset(r.p + page, 8, 2 * page);
  ASSERT_TRUE(system_space::renew(r.p + page, 2 * page));
  EXPECT_TRUE(all_are(r.p, page, 7));
  EXPECT_TRUE(all_are(r.p + page, 2 * page, 0));
  EXPECT_TRUE(all_are(r.p + 3 * page, mib - 3 * page, 7));
  std::memset(r.p, 9, mib);
}

TEST(SystemSpace, PurgingUnlocksWhatItsLastOwnerLocked) {
  const reservation r(system_space::reserve(mib), mib);
  ASSERT_TRUE(system_space::commit(r.p, mib));
  std::memset(r.p, 7, 16 * page);
  if (::mlock(r.p, 8 * page) != 0) GTEST_SKIP() << "no memory may be locked here";
  errno = 1234;
  // In part locked, so the system refuses at first.
  EXPECT_TRUE(system_space::purge(r.p, 16 * page));
  EXPECT_EQ(errno, 1234);
  EXPECT_TRUE(all_are(r.p, 16 * page, 0));
  std::memset(r.p, 8, 16 * page);
  EXPECT_EQ(::madvise(r.p, 16 * page, MADV_DONTNEED), 0) << "it is still locked";
  EXPECT_TRUE(all_are(r.p, 16 * page, 0));
}

TEST(SystemSpace, MoveTakesTheContentsAndLeavesZeros) {
  const reservation r(system_space::reserve(4 * mib), 4 * mib);
  ASSERT_TRUE(system_space::commit(r.p, 4 * mib));
  std::memset(r.p, 1, mib);
  std::memset(r.p + mib, 2, mib);
  std::memset(r.p + 2 * mib, 3, mib);
  char* const from = r.p + mib;
  char* const to = r.p + 2 * mib;
  ASSERT_TRUE(system_space::move(from, to, mib));
  EXPECT_TRUE(all_are(to, mib, 2));
  EXPECT_TRUE(all_are(from, mib, 0));
  EXPECT_TRUE(all_are(r.p, mib, 1));
  std::memset(from, 4, mib);  // still committed
  EXPECT_TRUE(all_are(to, mib, 2));
  ASSERT_TRUE(system_space::renew(from, mib));
  EXPECT_TRUE(all_are(from, mib, 0));
}

TEST(SystemSpace, RefusalsAreReportedAndErrnoIsKept) {
  errno = 1234;
  EXPECT_EQ(system_space::reserve(SIZE_MAX - (mib - 1)), nullptr);
  EXPECT_EQ(system_space::reserve_zeros(SIZE_MAX - (mib - 1)), nullptr);
  EXPECT_EQ(errno, 1234);
  const reservation r(system_space::reserve(mib), mib);
  {
    // Addresses that are nobody's any more.
    void* gone = system_space::reserve(mib);
    system_space::release(gone, mib);
    // qemu lets a purge pass, and all of them where it has mapped all addresses of 32 bits.
    if (!support::emulated) {
      EXPECT_FALSE(system_space::purge(gone, mib));
    }
    if (!support::emulated || sizeof(void*) > 4) {
      EXPECT_FALSE(system_space::commit(gone, mib));
      EXPECT_FALSE(system_space::move(gone, r.p, mib));
    }
  }
  EXPECT_EQ(errno, 1234);
  EXPECT_TRUE(system_space::commit(r.p, mib));
  static_cast<void>(system_space::limit());
  static_cast<void>(system_space::physical());
  static_cast<void>(system_space::now_ms());
  static_cast<void>(resident_bytes());
  EXPECT_EQ(errno, 1234);
}

TEST(SystemSpace, ResidentCountsTouchedPagesOnly) {
  const std::size_t bytes = 1024 * page;  // more than are asked for at once
  const reservation r(system_space::reserve(bytes), bytes);
  ASSERT_TRUE(system_space::commit(r.p, bytes));
  ::madvise(r.p, bytes, MADV_NOHUGEPAGE);  // or a page that is touched would bring 511 others
  EXPECT_EQ(system_space::resident(r.p, bytes), 0u);
  for (const std::size_t i : {0u, 1u, 255u, 256u, 257u, 1023u}) write(r.p + i * page, 1);
  EXPECT_EQ(system_space::resident(r.p, bytes), 6 * page);
  EXPECT_EQ(system_space::resident(r.p + page, 255 * page), 2 * page);
  ASSERT_TRUE(system_space::purge(r.p, 256 * page));
  EXPECT_EQ(system_space::resident(r.p, bytes), 3 * page);
  EXPECT_EQ(system_space::resident(nullptr, 0), 0u);
}

TEST(SystemSpace, ResidentBytesFollowWhatIsTouched) {
  const reservation r(system_space::reserve(64 * mib), 64 * mib);
  ASSERT_TRUE(system_space::commit(r.p, 64 * mib));
  const std::size_t before = resident_bytes();
  EXPECT_GT(before, 512u * 1024);
  EXPECT_LT(before, system_space::physical());
  for (std::size_t i = 0; i < 64 * mib; i += page) write(r.p + i, 1);
  const std::size_t full = resident_bytes();
  EXPECT_GE(full, before + 60 * mib);
  ASSERT_TRUE(system_space::purge(r.p, 64 * mib));
  EXPECT_LE(resident_bytes() + 60 * mib, full);
}

TEST(SystemSpace, ARoomIsNobodysUntilItIsClaimed) {
  if (support::emulated) GTEST_SKIP() << "an emulator may leave one gap only";
  const reservation near(system_space::reserve_zeros(mib), mib);
  std::size_t bytes = 512 * mib, other_bytes = 512 * mib;
  errno = 1234;
  auto* const gap = static_cast<char*>(system_space::find_gap(near.p, bytes));
  if (gap == nullptr) GTEST_SKIP() << "no gaps here";
  auto* const other = static_cast<char*>(system_space::find_gap(near.p, other_bytes));
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(bytes, 512 * mib);
  EXPECT_TRUE(other + other_bytes <= gap || gap + bytes <= other) << "two have one gap";
  EXPECT_FALSE(system_space::commit(gap, mib)) << "it was reserved";

  ASSERT_TRUE(system_space::claim(gap + mib, mib));
  EXPECT_TRUE(all_are(gap + mib, mib, 0));
  std::memset(gap + mib, 7, mib);
  EXPECT_FALSE(system_space::claim(gap, bytes)) << "a part of it is claimed";
  EXPECT_FALSE(system_space::claim(gap + mib, mib));
  EXPECT_FALSE(system_space::claim(gap + 2 * mib - page, 2 * mib));
  EXPECT_TRUE(all_are(gap + mib, mib, 7));
  ASSERT_TRUE(system_space::claim(gap + 2 * mib, mib)) << "directly behind";
  ASSERT_TRUE(system_space::claim(gap, mib)) << "and before: nothing was left there";
  std::memset(gap, 8, 3 * mib);
  system_space::release(gap + mib, 2 * mib);  // two claims, in one
  EXPECT_TRUE(all_are(gap, mib, 8));
  ASSERT_TRUE(system_space::claim(gap + mib, mib));
  EXPECT_TRUE(all_are(gap + mib, mib, 0));
  system_space::release(gap, 2 * mib);
  EXPECT_EQ(errno, 1234);

  system_space::leave_gap(gap);
  EXPECT_EQ(system_space::find_gap(near.p, bytes), gap) << "it may be found again";
  system_space::leave_gap(gap);
  system_space::leave_gap(other);
}

TEST(SystemSpace, GapsAreNoMoreThanThereAre) {
  const reservation near(system_space::reserve_zeros(mib), mib);
  std::size_t bytes = SIZE_MAX;
  void* const all = system_space::find_gap(near.p, bytes);
  if (all == nullptr) GTEST_SKIP() << "no gaps here";
  EXPECT_GE(bytes, 512 * mib);
  EXPECT_LT(bytes, SIZE_MAX / 2);
  void* gaps[1024];
  std::size_t count = 0;
  while (count < 1024 && (gaps[count] = system_space::find_gap(near.p, bytes)) != nullptr) ++count;
  EXPECT_LT(count, 1024u);
  while (count != 0) system_space::leave_gap(gaps[--count]);
  system_space::leave_gap(all);
  EXPECT_EQ(system_space::find_gap(reinterpret_cast<void*>(0x10000), bytes), nullptr)
      << "there is nothing below so low an address";
}

TEST(SystemSpace, ProcessorsAreThoseThatTheProcessMayUse) {
  const std::size_t all = system_space::processors();
  EXPECT_GE(all, 1u);
  EXPECT_LE(all, static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  std::thread([] {
    cpu_set_t mine, one;
    ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
    CPU_ZERO(&one);
    for (unsigned i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
      if (CPU_ISSET(i, &mine)) CPU_SET(i, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    errno = 5;
    EXPECT_EQ(system_space::processors(), 1u);
    EXPECT_EQ(errno, 5);
  }).join();
}

TEST(SystemSpace, AGuardedPageCannotBeAccessedAndIsZeroLater) {
  const reservation r(system_space::reserve(2 * page), 2 * page);
  ASSERT_TRUE(system_space::commit(r.p, 2 * page));
  std::memset(r.p, 7, 2 * page);
  if (!system_space::guard(r.p + page, page)) GTEST_SKIP() << "Linux 6.13 and later";
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  EXPECT_EQ(::write(pipe[1], r.p + page - 1, 1), 1);
  EXPECT_EQ(::write(pipe[1], r.p + page, 1), -1);
  EXPECT_EQ(errno, EFAULT);
  system_space::unguard(r.p + page, page);
  EXPECT_TRUE(all_are(r.p + page, page, 0));
  EXPECT_TRUE(all_are(r.p, page, 7));
  for (const int end : pipe) ::close(end);
}

}  // namespace
