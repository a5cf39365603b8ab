// The tests of the small sources of ashlar/os: a part for each, with its name.
#include <tests/support/resident.hpp>
#include <tests/support/test_folder.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/os/last_words.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/os/small_file.hpp>

namespace {

using namespace ashlar;
using ashlar::os::file_text;
using ashlar::os::mutex;
using ashlar::os::read_small_file;

using LastWords = support::TestFolder;
using source = ashlar::os::page_source;

// ---- last_words ---------------------------------------------------------------------------------

TEST_F(LastWords, AFileIsAppendedToAndAnErrorIsReturned) {
  errno = EDOM;
  EXPECT_EQ(os::append_to_file(path("log").c_str(), "one\n", 4), 0);
  EXPECT_EQ(os::append_to_file(path("log").c_str(), "two\n", 4), 0);
  EXPECT_EQ(support::read_file(path("log")), "one\ntwo\n");
  EXPECT_EQ(os::append_to_file(path("no/log").c_str(), "x", 1), ENOENT);
  EXPECT_EQ(os::append_to_file("/dev/full", "x", 1), ENOSPC);
  EXPECT_EQ(errno, EDOM);
}

// ---- page_source --------------------------------------------------------------------------------

TEST(OsPageSource, PiecesAreZeroAlignedAndWritable) {
  for (const std::size_t alignment : {std::size_t{1}, std::size_t{4096}, std::size_t{1} << 16,
                                      std::size_t{1} << 21, std::size_t{1} << 25}) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096},
                                    std::size_t{4097}, std::size_t{300'000}}) {
      auto* p = static_cast<unsigned char*>(source::allocate(bytes, alignment));
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignment, 0u);
      for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(p[i], 0u);
      std::memset(p, 1, bytes);
      source::deallocate(p, bytes, alignment);
    }
  }
  source::deallocate(nullptr, 1, 1);
}

TEST(OsPageSource, WhatCannotBeIsNullAndErrnoStays) {
  errno = 77;
  EXPECT_EQ(source::allocate(SIZE_MAX, 1), nullptr);
  EXPECT_EQ(source::allocate(SIZE_MAX - 8192, std::size_t{1} << 20), nullptr);
  EXPECT_EQ(source::allocate(SIZE_MAX / 8 * 7, 1), nullptr);
  EXPECT_EQ(errno, 77);
}

TEST(OsPageSource, GivesEverythingBack) {
  if (support::emulated) GTEST_SKIP() << "the emulator's mappings are counted, too";
  // What alignment cuts off must go back too: it would be some 32 GiB.
  const std::size_t before = support::address_space_bytes();
  for (int i = 0; i < 1000; ++i) {
    auto* p = static_cast<unsigned char*>(source::allocate(1 << 20, 1 << 25));
    ASSERT_NE(p, nullptr);
    std::memset(p, 1, 1 << 20);
    source::deallocate(p, 1 << 20, 1 << 25);
  }
  EXPECT_LT(support::address_space_bytes(), before + (64u << 20));
}

// ---- small_file ---------------------------------------------------------------------------------
// Files that are there, are not, are folders, are too long, or never end.

class SmallFile : public testing::Test {
 protected:
  std::string written(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::array<char, 64> buffer_{};

 private:
  std::string path_ = testing::TempDir() + "/small_file_test." +
                      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SmallFile, IsReadWholeUpToTheCapacity) {
  for (const std::size_t size : {0u, 1u, 63u, 64u}) {
    const std::string text(size, 'x');
    errno = 7;
    const file_text got = read_small_file(written(text).c_str(), buffer_.data(), buffer_.size());
    EXPECT_EQ(got.why, nullptr);
    EXPECT_EQ(std::string(buffer_.data(), got.size), text);
    EXPECT_EQ(errno, 7);
  }
}

TEST_F(SmallFile, OneByteMoreIsTooLong) {
  const file_text got =
      read_small_file(written(std::string(65, 'x')).c_str(), buffer_.data(), buffer_.size());
  EXPECT_STREQ(got.why, "is too long");
  EXPECT_STREQ(read_small_file("/dev/zero", buffer_.data(), buffer_.size()).why, "is too long");
}

TEST_F(SmallFile, WhatCannotBeReadIsSaid) {
  errno = 7;
  EXPECT_STREQ(read_small_file("/nowhere/file", buffer_.data(), buffer_.size()).why,
               "is not there");
  EXPECT_STREQ(read_small_file("/", buffer_.data(), buffer_.size()).why, "is a folder");
  EXPECT_EQ(errno, 7);
}

// ---- mutex -------------------------------------------------------------------------------------

// Needs no initialisation at run time: what makes a heap usable before static constructors.
constinit mutex global;
static_assert(sizeof(mutex) == 4);

TEST(Mutex, ExcludesOthersAndWakesThoseThatSleep) {
  constexpr int threads = 4, rounds = 50'000;
  long plain = 0;  // a data race, and a wrong sum, unless the lock works
  global.lock();
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        const std::lock_guard guard(global);
        ++plain;
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // for longer than anybody spins
  EXPECT_EQ(plain, 0);
  global.unlock();
  for (std::thread& w : workers) w.join();
  EXPECT_EQ(plain, long{threads} * rounds);
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

// ---- process -----------------------------------------------------------------------------------
// What a process is told of itself: its environment, and the ends of its threads.

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
