// The limit of the process heap: what is refused, who is called, what is told.
// Needs Linux.
#include <tests/support/in_child.hpp>
#include <tests/support/shared_blocks.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/adapt/process_source.hpp>
#include <ashlar/ashlar.h>
#include <ashlar/instance/heap.hpp>
#include <ashlar/runtime/memory_limit.hpp>

namespace {

using namespace ashlar;
constexpr std::size_t mib = std::size_t{1} << 20;

ashlar_total_stats total() {
  ashlar_stats s;
  ashlar_stats_get(&s);
  return s.total;
}

/// A block that is in memory; null: there is none.
void* block_of(std::size_t size) {
  void* const p = xmalloc(size);
  return p != nullptr ? std::memset(p, 1, size) : nullptr;
}

class MemoryLimit : public testing::Test {
 protected:
  void SetUp() override {
    if (os::heap_is_the_sanitizers()) GTEST_SKIP() << "a sanitizer's heap serves";
    ashlar_trim();
    base = total().committed_bytes;
  }
  void TearDown() override {
    release();
    ashlar_on_limit(nullptr, nullptr, 0);
    ashlar_limit(0);
  }
  /// Effects: the heap may hold so much beside what it holds now.
  void limit_to(std::size_t bytes) {
    limit = base + bytes;
    ASSERT_EQ(ashlar_limit(limit), 0);
  }
  /// Effects: takes blocks of `size` until there is none, at most `most` bytes. Returns: their
  /// bytes.
  std::size_t fill(std::size_t size, std::size_t most = 1024 * mib) {
    std::size_t bytes = 0;
    while (bytes < most) {
      void* const p = block_of(size);
      if (p == nullptr) break;
      blocks.push_back(p);
      bytes += size;
    }
    return bytes;
  }
  void release() {
    for (void* p : blocks) xfree(p);
    blocks.clear();
  }

  std::size_t base = 0, limit = 0;
  std::vector<void*> blocks;
};

TEST_F(MemoryLimit, NoMoreIsHeldAndWhatIsRefusedIsEnomem) {
  limit_to(24 * mib);
  const std::uint64_t refused = total().limit_refusals;
  for (const std::size_t size :
       {std::size_t{100}, std::size_t{3000}, std::size_t{40'000}, mib, std::size_t{16}}) {
    errno = 0;
    const std::size_t bytes = fill(size);
    EXPECT_EQ(errno, ENOMEM) << size;
    EXPECT_GE(bytes, 19 * mib) << size;
    EXPECT_LE(total().committed_bytes, limit) << size;
    // A block that cannot grow stays as it was.
    auto* const kept = static_cast<unsigned char*>(blocks.back());
    errno = 0;
    EXPECT_EQ(xrealloc(kept, 100 * mib), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(kept[0], 1);
    EXPECT_EQ(xcalloc(30, mib), nullptr);
    EXPECT_EQ(xaligned_alloc(64, 30 * mib), nullptr);
    release();
  }
  EXPECT_GE(total().limit_refusals, refused + 20);
  EXPECT_EQ(total().limit_bytes, limit / detail::page_size * detail::page_size);
  const std::uint64_t after = total().limit_refusals;
  volatile std::size_t too_much = SIZE_MAX / 2 + 1;
  EXPECT_EQ(xmalloc(too_much), nullptr);
  EXPECT_EQ(total().limit_refusals, after) << "no heap has so much";
  ashlar_limit(0);
  EXPECT_EQ(fill(mib, 40 * mib), 40 * mib);
  EXPECT_EQ(total().limit_bytes, 0u);
}

TEST_F(MemoryLimit, BelowWhatIsHeldOneLineAndTheServiceGoesOn) {
  fill(mib, 20 * mib);
  void* const dirty = block_of(8 * mib);
  xfree(dirty);
  testing::internal::CaptureStderr();
  limit_to(22 * mib);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "what is free goes back";
  testing::internal::CaptureStderr();
  limit_to(5 * mib);
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_EQ(line.find("ashlar: the limit of " + std::to_string(limit) + " bytes is below the "), 0u)
      << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  EXPECT_EQ(block_of(mib), nullptr);
  for (int i = 0; i < 14; ++i) {
    xfree(blocks.back());
    blocks.pop_back();
  }
  ashlar_trim();  // what is free could be used again
  EXPECT_EQ(block_of(2 * mib), nullptr) << "6 MiB are in use";
  xfree(blocks.back());
  blocks.pop_back();
  xfree(blocks.back());
  blocks.pop_back();
  void* const p = block_of(mib);
  EXPECT_NE(p, nullptr);
  xfree(p);
}

/// A program's cache of blocks, that its function for the limit drops.
struct cache {
  std::vector<void*> blocks;
  int calls = 0;
  std::size_t asked = 0;

  static void drop(std::size_t bytes, void* argument) {
    auto& own = *static_cast<cache*>(argument);
    ++own.calls;
    own.asked = bytes;
    errno = EDOM;
    void* const scratch = xmalloc(1000);  // it may allocate

    for (std::size_t freed = 0; freed < bytes && !own.blocks.empty(); freed += mib) {
      xfree(own.blocks.back());
      own.blocks.pop_back();
    }
    xfree(scratch);
  }
  void fill(std::size_t count) {
    while (count-- != 0) blocks.push_back(block_of(mib));
  }
  ~cache() {
    for (void* p : blocks) xfree(p);
  }
};

TEST_F(MemoryLimit, TheFunctionIsCalledOnceForEachCrossing) {
  cache own;
  ASSERT_EQ(ashlar_on_limit(cache::drop, &own, 75), 0);
  limit_to(40 * mib);
  const std::size_t soft = limit / 4 * 3;
  own.fill((soft - base) / mib - 1);
  EXPECT_EQ(own.calls, 0);
  fill(64 * 1024, 3 * mib);
  EXPECT_EQ(own.calls, 1);
  EXPECT_GE(own.asked, limit / 16);
  EXPECT_LE(own.asked, limit / 16 + mib);
  EXPECT_LT(total().committed_bytes, soft) << "what it has dropped has gone back";
  // Nothing to drop any more: above, it is not called again, and below it is armed.
  for (void* p : own.blocks) blocks.push_back(p);
  own.blocks.clear();
  own.calls = 0;
  fill(64 * 1024, 6 * mib);
  EXPECT_LE(own.calls, 1);
  const int calls = own.calls;
  fill(64 * 1024, mib);
  EXPECT_EQ(own.calls, calls);
  release();
  ashlar_trim();
  fill(64 * 1024, soft - base + 2 * mib);
  EXPECT_EQ(own.calls, calls + 1);
  EXPECT_EQ(ashlar_on_limit(cache::drop, nullptr, 101), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(MemoryLimit, FreePagesGoBackBeforeAnythingElse) {
  cache own;
  ASSERT_EQ(ashlar_on_limit(cache::drop, &own, 0), 0);
  limit_to(40 * mib);
  const std::uint64_t before = total().given_back_bytes;
  fill(mib, 26 * mib);
  for (std::size_t i = 0; i < blocks.size(); i += 2) xfree(std::exchange(blocks[i], nullptr));
  // 13 MiB are free, keep their memory, and are too short for these.
  fill(2 * mib, 12 * mib);
  xfree(xmalloc(64 * 1024));
  EXPECT_EQ(own.calls, 0);
  EXPECT_GE(total().given_back_bytes, before + 12 * mib);
}

TEST_F(MemoryLimit, WhatTheFunctionDropsServesTheRequest) {
  cache own;
  ASSERT_EQ(ashlar_on_limit(cache::drop, &own, 100), 0);
  limit_to(32 * mib);
  own.fill(28);
  const std::uint64_t refused = total().limit_refusals;
  errno = 0;
  void* const p = block_of(20 * mib);
  EXPECT_NE(p, nullptr);
  EXPECT_EQ(errno, 0) << "the function's errno is its own";
  EXPECT_GE(own.calls, 1);
  EXPECT_GE(own.asked, 20 * mib);
  EXPECT_EQ(total().limit_refusals, refused);
  const int calls = own.calls;
  EXPECT_EQ(block_of(limit + mib), nullptr);
  EXPECT_EQ(own.calls, calls) << "nothing that it could drop would be enough";
  xfree(p);
}

TEST_F(MemoryLimit, ThreadsAtTheLimitMakeProgressOrFailCleanly) {
  constexpr int rounds = support::times(20'000);
  limit_to(16 * mib);
  fill(64 * 1024, 14 * mib);
  std::atomic<std::size_t> refused{0}, wrong{0};
  std::atomic<bool> ends{false};
  std::size_t served = 0;
  std::thread work([&] {
    served = support::share_blocks(
        {.threads = 2, .rounds = rounds, .held_most = 2000, .size_most = 60'000},
        [&](std::size_t size) {
          void* const p = size % 5 == 0 ? xcalloc(1, size) : xmalloc(size);
          if (p == nullptr) {
            ++refused;
            wrong += errno != ENOMEM ? 1u : 0u;
          }
          return p;
        },
        [](void* p, std::size_t) { xfree(p); });
    ends = true;
  });
  std::atomic<int> calls{0};
  const auto count = [](std::size_t, void* argument) {
    ++*static_cast<std::atomic<int>*>(argument);
  };
  testing::internal::CaptureStderr();  // now and then the limit is below what is held
  for (std::size_t i = 0; !ends || i < 100; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    limit_to((16 + i % 3) * mib);
    ashlar_on_limit(i % 2 == 0 ? +count : nullptr, &calls, 50 + static_cast<unsigned>(i % 50));
  }
  limit_to(18 * mib);
  testing::internal::GetCapturedStderr();
  work.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(served, rounds / 4u);
  EXPECT_GT(refused, 10u) << "or they were never at the limit";
  EXPECT_GT(calls, 10);
  EXPECT_LE(total().committed_bytes, limit);
}

TEST_F(MemoryLimit, AChildOfForkHasIt) {
  limit_to(8 * mib);
  EXPECT_TRUE(support::holds_in_child(
      [] { return block_of(9 * mib) == nullptr && block_of(mib) != nullptr; }));
}

struct empty_source {
  static void* allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  static void deallocate(void*, std::size_t, std::size_t) noexcept {}
};

TEST_F(MemoryLimit, ATenantsHeapIsWithinTheProcesss) {
  limit_to(24 * mib);
  heap tenant({.budget_bytes = 8 * mib}, process_source{});
  std::size_t bytes = 0;
  while (void* const p = tenant.try_allocate(10'000))
    bytes += std::memset(p, 1, 10'000) ? 10'000 : 0;
  EXPECT_GE(bytes, 5 * mib);
  EXPECT_LE(bytes, 8 * mib) << "its own budget";
  EXPECT_LE(fill(mib), 24 * mib - bytes) << "the process's limit";
  heap late({.budget_bytes = 8 * mib}, process_source{});
  const std::uint64_t refused = total().limit_refusals;
  EXPECT_EQ(late.try_allocate(3 * mib), nullptr) << "the process has no more";
  EXPECT_EQ(total().limit_refusals, refused + 1);
  heap other({}, empty_source{});
  EXPECT_EQ(other.try_allocate(3 * mib), nullptr);
  EXPECT_EQ(total().limit_refusals, refused + 1) << "another source's refusal is not the process's";
  EXPECT_LE(total().committed_bytes, limit);
}

/// A heap asks its source with its locks held: the program's function waits until they are free.
TEST_F(MemoryLimit, TheFunctionMayUseATenantsHeap) {
  struct tenant {
    heap<process_source> memory;
    void* cached = nullptr;
    static void drop(std::size_t, void* argument) {
      auto& own = *static_cast<tenant*>(argument);
      own.memory.deallocate(std::exchange(own.cached, nullptr));
      own.memory.trim();
    }
  };
  tenant own;
  void* const first = own.memory.try_allocate(mib);  // the heap keeps its first piece
  own.cached = own.memory.try_allocate(12 * mib);
  ASSERT_NE(own.cached, nullptr);
  ASSERT_EQ(ashlar_on_limit(tenant::drop, &own, 100), 0);
  limit_to(28 * mib);
  void* const more = own.memory.try_allocate(13 * mib);
  EXPECT_NE(more, nullptr) << "what the function dropped serves it";
  EXPECT_EQ(own.cached, nullptr);
  own.memory.deallocate(more);
  own.memory.deallocate(first);
}

TEST(ParseLimit, BytesAndPercentages) {
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("ashlar-limit-" + std::to_string(::getpid()));
  const auto write = [&](const char* path, const char* text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  std::uint64_t bytes = 7;
  const auto parse = [&](const char* text) {
    const char* const expected = runtime::parse_limit(text, bytes, root.c_str());
    return std::string(expected != nullptr ? expected : "");
  };
  EXPECT_EQ(parse("512M"), "");
  EXPECT_EQ(bytes, 512 * mib);
  EXPECT_NE(parse("90%").find("no control group bounds the memory"), std::string::npos);
  EXPECT_EQ(bytes, 512 * mib) << "as it was";
  write("proc/self/cgroup", "0::/app/one\n");
  write("sys/fs/cgroup/app/one/memory.current", "1000\n");
  write("sys/fs/cgroup/app/one/memory.max", "max\n");
  EXPECT_NE(parse("90%").find("no control group bounds the memory"), std::string::npos);
  write("sys/fs/cgroup/app/memory.max", "1000000\n");
  EXPECT_EQ(parse("90%"), "");
  EXPECT_EQ(bytes, 900'000u);
  write("sys/fs/cgroup/app/one/memory.max", "2000\n");
  EXPECT_EQ(parse("100%"), "");
  EXPECT_EQ(bytes, 2000u) << "the least one";
  for (const char* wrong : {"", "%", "0%", "101%", "-1%", "9x%", "1.5%", "99999999999%", "much",
                            "512MB", "-1", "2000000M"})
    EXPECT_NE(parse(wrong).find("bytes such as 512M, a percentage such as 90%"), std::string::npos)
        << wrong;
  EXPECT_EQ(bytes, 2000u);
  EXPECT_EQ(parse("0"), "");
  EXPECT_EQ(bytes, 0u);
  std::filesystem::remove_all(root);
}

}  // namespace
