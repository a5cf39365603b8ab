// Test scopes in a user's GoogleTest program, which the drop-in library serves: what a user writes,
// and what each call of malloc's family and of operator new counts for.
#include <cerrno>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <tests/support/malloc_calls.hpp>
#include <thread>
#include <vector>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <ashlar/adapt/test_scope.hpp>

namespace {

// Failures of scopes are GoogleTest's.
const auto failed_before =
    ashlar::test::on_failure([](const char* message) { ADD_FAILURE() << message; });

using ashlar::test::count_scope;
using ashlar::test::figures;
using ashlar::test::leak_scope;
using ashlar::test::no_allocation_scope;

/// What a user tests: a queue that has all of its memory from the beginning.
class queue {
 public:
  explicit queue(std::size_t capacity) : items_(std::make_unique<int[]>(capacity)) {}
  void push(int item) { items_[used_++] = item; }
  int pop() { return items_[--used_]; }

 private:
  std::unique_ptr<int[]> items_;
  std::size_t used_ = 0;
};

TEST(Queue, DoesNotAllocateInUse) {
  queue q(16);
  const no_allocation_scope quiet(ashlar::test::forbid::allocations_and_frees);
  for (int i = 0; i < 16; ++i) q.push(i);
  for (int i = 16; i-- > 0;) EXPECT_EQ(q.pop(), i);
}

TEST(Queue, DoesNotLeak) {
  const leak_scope leaks;
  queue q(16);
  q.push(1);
}

class LeakFree : public testing::Test {
  leak_scope leaks_;
};
TEST_F(LeakFree, CanBeAFixture) {
  const std::string text(100, 'x');
  EXPECT_EQ(text.size(), 100u);
}

TEST(Scopes, CountWhatContainersDo) {
  const count_scope scope;
  std::vector<std::uint64_t> v;
  v.reserve(100);
  EXPECT_EQ(scope.now().allocations, 1u);
  EXPECT_EQ(scope.now().bytes_allocated, 800u);
  v.resize(100);
  v.push_back(1);  // moves to twice the room: the old block is freed behind the new one
  const figures f = scope.now();
  EXPECT_EQ(std::tuple(f.allocations, f.frees, f.live_bytes, f.peak_bytes),
            std::tuple(2u, 1u, 1600u, 2400u));
}

TEST(Scopes, FailATestThatAllocates) {
  EXPECT_NONFATAL_FAILURE(
      {
        const no_allocation_scope quiet;
        const std::vector<int> v(25);
      },
      "operator new(100) in a scope that forbids allocations");
  EXPECT_NONFATAL_FAILURE(
      {
        const no_allocation_scope quiet;
        delete[] new char[77];
      },
      "operator new[](77) in a scope that forbids allocations");
  EXPECT_NONFATAL_FAILURE(
      {
        const no_allocation_scope quiet;
        std::free(std::malloc(55));
      },
      "gtest_user.cpp:");
}

TEST(Scopes, FailATestThatLeaks) {
  static int* kept[2];
  EXPECT_NONFATAL_FAILURE(
      {
        const leak_scope leaks;
        for (int*& k : kept) k = new int(1);
      },
      "2 blocks in all of 8 bytes live on that this scope allocated; sizes: 4, 4");
  for (const int* const k : kept) delete k;
}

/// Expects that make() is one allocation of `size` bytes and `end` one free.
template <class Make, class End>
void expect_pair(const char* what, std::size_t size, Make make, End end) {
  const count_scope scope;
  void* const block = make();
  EXPECT_NE(block, nullptr) << what;
  figures f = scope.now();
  EXPECT_EQ(f.allocations, 1u) << what;
  EXPECT_EQ(f.live_bytes, size) << what;
  EXPECT_EQ(f.frees, 0u) << what;
  end(block);
  f = scope.now();
  EXPECT_EQ(f.allocations, 1u) << what;
  EXPECT_EQ(f.frees, 1u) << what;
  EXPECT_EQ(f.live_blocks, 0u) << what;
}

TEST(Scopes, CountEachCallOfMallocsFamilyAndEachOperatorOnce) {
  const auto once = [](const char* name) { return std::strstr(name, "_of_a_block") == nullptr; };
  for (const auto& a : malloc_calls::allocations)
    if (once(a.name)) expect_pair(a.name, a.room, a.make, a.end);
  const auto frees = [](const char* name) { return std::strstr(name, "_away") == nullptr; };
  for (const auto& d : malloc_calls::deallocations)
    if (frees(d.name)) expect_pair(d.name, malloc_calls::bytes, d.make, d.end);
  constexpr std::size_t mib = 1 << 20;
  const auto end = [](void* p) { std::free(p); };
  expect_pair("malloc, large", mib, [] { return std::malloc(mib); }, end);
  expect_pair("calloc, large", mib, [] { return std::calloc(4, mib / 4); }, end);
  expect_pair("memalign, wide", 100, [] { return ::memalign(1 << 14, 100); }, end);
  expect_pair("strdup", 6, [] { return static_cast<void*>(::strdup("hello")); }, end);
  expect_pair(
      "realloc to 0", 10, [] { return std::malloc(10); },
      [](void* p) {
        const volatile std::size_t none = 0;
        EXPECT_EQ(std::realloc(p, none), nullptr);
      });
}

/// As realloc, which has memory here.
void* resized(void* block, std::size_t size) {
  void* const now = std::realloc(block, size);
  if (now == nullptr) std::abort();
  return now;
}

TEST(Scopes, CountAReallocInPlaceAndOneThatMoves) {
  const count_scope scope;
  void* block = std::malloc(100);
  block = resized(block, 104);
  block = resized(block, 60'000);
  block = resized(block, 1 << 20);
  block = resized(block, 2 << 20);  // a large block, which may grow where it is
  const figures f = scope.now();
  EXPECT_EQ(std::tuple(f.allocations, f.reallocations, f.frees, f.live_blocks),
            std::tuple(5u, 4u, 4u, 1u));
  EXPECT_EQ(f.live_bytes, std::uint64_t{2} << 20);
  std::free(block);
  EXPECT_EQ(scope.now().live_blocks, 0u);
}

TEST(Scopes, SeeAnExceptionAsABlock) {
  const count_scope scope;
  try {
    throw std::runtime_error("a message that is too long for the string itself");
  } catch (const std::runtime_error&) {
    EXPECT_GE(scope.now().live_blocks, 2u);
  }
  EXPECT_EQ(scope.now().live_blocks, 0u);
  try {
    const leak_scope leaks;
    throw std::runtime_error("the scope ends while this lives, and does not fail");
  } catch (const std::runtime_error& e) {
    EXPECT_STRNE(e.what(), "");
  }
}

TEST(Scopes, CountBlocksThatOtherThreadsFree) {
  std::thread([] {}).join();  // the C library keeps the memory of a thread's start for the next one
  const leak_scope leaks;
  std::vector<void*> blocks(200);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = std::malloc(i * i * 10);
  std::thread other([&] {
    for (void* const block : blocks) std::free(block);
  });
  other.join();
  EXPECT_EQ(leaks.now().freed_elsewhere, 200u + 1u)
      << "the blocks, and the thread's function object";
}

TEST(Scopes, KeepErrno) {
  const count_scope scope;
  errno = 77;
  std::free(std::malloc(10));
  const figures f = scope.now();
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(f.allocations, 1u);
}

}  // namespace
