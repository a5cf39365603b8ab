// Test scopes on libashlar's process heap: what they count of each kind of call, and beside
// threads, forks and exceptions.
// Suites: gcc-check
// Needs POSIX.
#include <tests/support/in_child.hpp>
#include <tests/support/test_headers.hpp>

#include <pthread.h>

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/adapt/c_api.h>
#include <ashlar/adapt/test_scope.hpp>

namespace {

using namespace ashlar;
using namespace test;

/// The messages of failures, while it lives.
std::vector<std::string> messages;
struct failures {
  failures() {
    messages.clear();
    test::on_failure([](const char* message) { messages.emplace_back(message); });
  }
  ~failures() { test::on_failure(nullptr); }
};

struct counted : test::count_scope {
  explicit counted() : count_scope(calls::libashlar) {}
};

/// Whether this thread hits: a second allocation of a size that was freed a moment ago is not a
/// miss.
bool thread_hits() {
  runtime::deallocate(runtime::allocate(40), "test");
  void* const block = runtime::process_hits::try_allocate(runtime::tops(), 40);
  if (block != nullptr) runtime::deallocate(block, "test");
  return block != nullptr;
}

TEST(TestScope, CountsEachFaceOfTheHeap) {
  const counted scope;
  std::uint64_t calls_made = 0, bytes = 0;
  const auto expect = [&](const char* what, std::size_t size) {
    bytes += size;
    const figures f = scope.now();
    EXPECT_EQ(f.allocations, ++calls_made) << what;
    EXPECT_EQ(f.frees, calls_made) << what;
    EXPECT_EQ(f.bytes_allocated, bytes) << what;
    EXPECT_EQ(f.live_blocks, 0u) << what;
  };
  xfree(xcalloc(10, 10));
  expect("xcalloc", 100);
  xfree(xcalloc(1, 100'000));
  expect("xcalloc, large", 100'000);
  xfree(xaligned_alloc(256, 300));
  expect("xaligned_alloc", 300);
  xfree(xaligned_alloc(1 << 16, 300'000));
  expect("xaligned_alloc, large", 300'000);
  xfree(xrealloc(nullptr, 77));
  expect("xrealloc of null", 77);
  EXPECT_EQ(xrealloc(xmalloc(33), 0), nullptr);
  expect("xrealloc to 0", 33);
  allocator<std::uint64_t> of_words;
  of_words.deallocate(of_words.allocate(5), 5);
  expect("allocator", 40);
  struct alignas(64) line {
    char bytes[64];
  };
  allocator<line> of_lines;
  of_lines.deallocate(of_lines.allocate(1), 1);
  expect("allocator, aligned", 64);
  const volatile std::size_t too_many = SIZE_MAX;
  EXPECT_EQ(xmalloc(too_many), nullptr);  // no block: it is not an allocation
  EXPECT_EQ(xcalloc(too_many, 2), nullptr);
  EXPECT_EQ(scope.now().allocations, calls_made);
}

TEST(TestScope, IsOfItsThreadAlone) {
  ASSERT_TRUE(thread_hits());
  void* freed_there = nullptr;
  void* made_there = nullptr;
  {
    const counted scope;
    EXPECT_FALSE(thread_hits());
    const std::uint64_t own = scope.now().allocations;
    freed_there = xmalloc(50);
    bool hits = false;
    std::thread([&] {
      hits = thread_hits();
      for (int i = 0; i < 100; ++i) xfree(xmalloc(60));
      xfree(freed_there);
      made_there = xmalloc(70);
    }).join();
    EXPECT_TRUE(hits) << "other threads keep their hits";
    const figures f = scope.now();
    EXPECT_EQ(f.allocations, own + 1);
    EXPECT_EQ(f.freed_elsewhere, 1u);
    EXPECT_EQ(f.live_blocks, 0u);
    xfree(made_there);
    EXPECT_EQ(scope.now().other_frees, 1u);
  }
  EXPECT_TRUE(thread_hits()) << "no cost outside of scopes";
}

TEST(TestScope, EndsWithItsThread) {
  void* block = nullptr;
  std::thread([&] {
    ashlar_test_scope scope;  // nobody ends it
    ASSERT_EQ(ashlar_test_begin(&scope, ASHLAR_TEST_LIBASHLAR, nullptr), 0);
    block = xmalloc(10);
  }).join();
  xfree(block);
  // In a thread that has not allocated before, and in a handler of a thread's end.
  static pthread_key_t key;
  ASSERT_EQ(::pthread_key_create(&key,
                                 [](void*) {
                                   const counted scope;
                                   xfree(xmalloc(10));
                                   EXPECT_EQ(scope.now().allocations, 1u);
                                 }),
            0);
  std::thread([] {
    ::pthread_setspecific(key, &key);
    const counted scope;
    xfree(xmalloc(10));
    EXPECT_EQ(scope.now().frees, 1u);
  }).join();
  ::pthread_key_delete(key);
}

TEST(TestScope, GoesOnInAChildOfFork) {
  if (support::thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer's forks may hang";
  const counted scope;
  void* const block = xmalloc(10);
  EXPECT_TRUE(support::holds_in_child([&] {
    void* const in_child = xmalloc(20);
    const figures f = scope.now();
    xfree(in_child);
    return f.allocations == 2 && f.live_bytes == 30 && scope.now().live_bytes == 10;
  }));
  EXPECT_EQ(scope.now().allocations, 1u);
  xfree(block);
}

TEST(TestScope, CountsBesideForksOfOtherThreads) {
  if (support::thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer's forks may hang";
  std::atomic<bool> done{false};
  std::thread forks([&] {
    for (int i = 0; i < support::times(100); ++i) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(0);
      ::waitpid(child, nullptr, 0);
    }
    done = true;
  });
  const counted scope;
  std::uint64_t rounds = 0;
  void* block = xmalloc(1);
  while (!done || rounds < 1000) {  // the reserve serves some of these, and takes some back later
    void* const next = xmalloc(1 + rounds++ % 5000);
    xfree(std::exchange(block, next));
  }
  forks.join();
  const figures f = scope.now();
  EXPECT_EQ(f.allocations, rounds + 1);
  EXPECT_EQ(std::tuple(f.frees, f.live_blocks, f.freed_elsewhere), std::tuple(rounds, 1u, 0u));
  xfree(block);
}

TEST(TestScope, CountsNothingOfWhatOtherThreadsFreedBesideAFork) {
  if (support::thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer's forks may hang";
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> large{0};
  std::thread other([&] {
    while (!done) {
      xfree(xmalloc(300'000));  // misses: while the main thread forks, the free is noted for later
      ++large;
    }
  });
  const counted scope;
  while (large == 0) std::this_thread::yield();
  for (int i = 0; i < support::times(200); ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
  }
  const figures f = scope.now();
  done = true;
  other.join();
  EXPECT_EQ(f.allocations, 0u);
  EXPECT_EQ(f.frees, 0u);
}

TEST(TestScope, LetsExceptionsThrough) {
  const failures caught;
  try {
    const test::leak_scope leaks(calls::libashlar);
    void* const block = xmalloc(10);
    const std::unique_ptr<void, void (*)(void*)> kept(block, [](void*) {});
    throw std::runtime_error("through the scope");
  } catch (const std::runtime_error&) {
    EXPECT_TRUE(messages.empty()) << "a test that ends by an exception has failed already";
  }
  EXPECT_TRUE(thread_hits());
  // A leak during an exception, in a scope that ends by itself, is told.
  struct cleans_up {
    ~cleans_up() {
      const test::leak_scope leaks(calls::libashlar);
      static_cast<void>(xmalloc(11));
    }
  };
  try {
    const cleans_up object;
    throw 1;
  } catch (int thrown) {
    EXPECT_EQ(thrown, 1);
  }
  ASSERT_EQ(messages.size(), 1u);
}

TEST(TestScope, TellsLeaks) {
  const failures caught;
  std::vector<void*> blocks;
  unsigned line = 0;
  {
    line = __LINE__ + 1;
    const test::leak_scope leaks(calls::libashlar);
    for (std::size_t size = 1; size <= 10; ++size) blocks.push_back(xmalloc(size));
    xfree(std::exchange(blocks[1], nullptr));
  }
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0],
            std::string(__FILE__) + ":" + std::to_string(line) +
                ": 9 blocks in all of 53 bytes live on that this scope allocated; sizes: "
                "1, 3, 4, 5, 6, 7, 8, 9, ...");
  for (void* const block : blocks) xfree(block);
  {
    const test::leak_scope leaks(calls::libashlar);
    xfree(xmalloc(20));
  }
  EXPECT_EQ(messages.size(), 1u);
}

TEST(TestScope, ForbidsAllocations) {
  const failures caught;
  void* block = xmalloc(10);
  {
    const test::no_allocation_scope quiet(test::forbid::allocations, calls::libashlar);
    xfree(block);
    EXPECT_TRUE(messages.empty());
    block = xmalloc(123);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_NE(messages[0].find("ashlar: xmalloc(123) in a scope that forbids allocations"),
              std::string::npos)
        << messages[0];
    xfree(xmalloc(124));
    EXPECT_EQ(messages.size(), 1u) << "the first is told, all are counted";
    EXPECT_EQ(quiet.now().allocations, 2u);
  }
  {
    const test::no_allocation_scope quiet(test::forbid::allocations_and_frees, calls::libashlar);
    xfree(block);
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_NE(messages[1].find(") in a scope that forbids frees"), std::string::npos)
        << messages[1];
    EXPECT_NE(messages[1].find("ashlar: xfree(0x"), std::string::npos) << messages[1];
  }
  block = xmalloc(10);
  {
    const test::no_allocation_scope outer(test::forbid::allocations, calls::libashlar);
    const test::no_allocation_scope inner(test::forbid::allocations, calls::libashlar);
    block = xrealloc(block, 12);
    EXPECT_EQ(messages.size(), 4u) << "each scope tells its own";
    EXPECT_NE(messages[3].find(", 12) in a scope that forbids allocations"), std::string::npos)
        << messages[3];
  }
  xfree(block);
}

TEST(TestScope, SaysFromWhereAForbiddenCallComes) {
  if (support::sanitized) GTEST_SKIP() << "a sanitizer's frames come first";
  const failures caught;
  const test::no_allocation_scope quiet(test::forbid::allocations, calls::libashlar);
  xfree(xmalloc(123));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("\nashlar:   #0 0x"), std::string::npos) << messages[0];
  EXPECT_NE(messages[0].back(), '\n');
}

TEST(TestScope, AbortsWhereNobodyIsTold) {
  if (support::thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer's forks may hang";
  const auto by_c = support::in_child([] {
    ashlar_test_scope scope;
    const ashlar_test_rules rules{ASHLAR_TEST_ALLOCATIONS, nullptr, nullptr};
    if (ashlar_test_begin(&scope, ASHLAR_TEST_LIBASHLAR, &rules) != 0) return false;
    return xmalloc(5) != nullptr;
  });
  EXPECT_TRUE(by_c.aborted());
  EXPECT_EQ(by_c.err.rfind("ashlar: xmalloc(5) in a scope that forbids allocations", 0), 0u)
      << by_c.err;
  const auto by_cxx = support::in_child([] {
    const test::no_allocation_scope quiet(test::forbid::allocations, calls::libashlar);
    return xmalloc(5) != nullptr;
  });
  EXPECT_TRUE(by_cxx.aborted());
  EXPECT_NE(by_cxx.err.find("test_scope_test.cpp:"), std::string::npos) << by_cxx.err;
}

TEST(TestScope, DoesNotCountWhatAReportAllocates) {
  static ashlar_test_scope scope;
  static int begun, seen, asked;
  begun = seen = asked = 0;
  const char* call = nullptr;
  const ashlar_test_rules rules{ASHLAR_TEST_ALLOCATIONS,
                                [](const ashlar_test_call* what, void* context) {
                                  xfree(xmalloc(what->size));
                                  ashlar_test_scope inner;
                                  begun = ashlar_test_begin(&inner, 0, nullptr) != 0 ? errno : 0;
                                  ashlar_test_figures f;
                                  asked = ashlar_test_now(&scope, &f);
                                  *static_cast<const char**>(context) = what->call;
                                  ++seen;
                                },
                                &call};
  ASSERT_EQ(ashlar_test_begin(&scope, ASHLAR_TEST_LIBASHLAR, &rules), 0);
  xfree(xmalloc(5));
  ashlar_test_figures f;
  EXPECT_EQ(ashlar_test_end(&scope, &f), 0);
  EXPECT_EQ(f.allocations, 1u);
  EXPECT_EQ(seen, 1);
  EXPECT_STREQ(call, "xmalloc");
  EXPECT_EQ(begun, ENOTSUP) << "no heap counts inside a report";
  EXPECT_EQ(asked, -1);
}

TEST(TestScope, RefusesWhatItCannotCount) {
  const failures caught;
  EXPECT_TRUE(test::can_count(calls::libashlar));
  EXPECT_FALSE(test::can_count()) << "this program's malloc is not ashlar's";
  EXPECT_FALSE(test::can_count(calls::operator_new));
  EXPECT_FALSE(test::can_count(calls::libashlar | calls::malloc_family));
  const test::count_scope scope;
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("malloc cannot be counted"), std::string::npos) << messages[0];
  EXPECT_EQ(scope.now().allocations, 0u);
  ashlar_test_scope c_scope;
  EXPECT_EQ(ashlar_test_begin(&c_scope, ASHLAR_TEST_MALLOC, nullptr), -1);
  EXPECT_EQ(errno, ENOTSUP);
  ashlar_test_figures f;
  EXPECT_EQ(ashlar_test_now(&c_scope, &f), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(TestScope, IsTriedWithoutATraceInOpenScopes) {
  const counted scope;
  void* const block = xmalloc(10);
  EXPECT_TRUE(test::can_count(calls::libashlar));
  EXPECT_EQ(ashlar_test_heap(0)->sees([] { xfree(xmalloc(10)); }), 1);
  EXPECT_EQ(scope.now().allocations, 1u);
  EXPECT_FALSE(thread_hits()) << "it goes on counting";
  xfree(block);
}

TEST(TestScope, KnowsWhenItIsTooDeepOrOver) {
  ashlar_test_scope scopes[17];
  for (int i = 0; i < 16; ++i)
    ASSERT_EQ(ashlar_test_begin(&scopes[i], ASHLAR_TEST_LIBASHLAR, nullptr), 0) << i;
  EXPECT_EQ(ashlar_test_begin(&scopes[16], 0, nullptr), -1);
  EXPECT_EQ(errno, EAGAIN);
  xfree(xmalloc(10));
  ashlar_test_figures f;
  EXPECT_EQ(ashlar_test_end(&scopes[3], &f), 0);
  EXPECT_EQ(f.allocations, 1u);
  EXPECT_EQ(ashlar_test_end(&scopes[4], &f), -1) << "it ended with the one around it";
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(f.allocations, 0u);
  EXPECT_EQ(ashlar_test_end(&scopes[0], nullptr), 0);
  EXPECT_EQ(ashlar_test_end(&scopes[0], nullptr), -1);
  EXPECT_TRUE(thread_hits());
}

}  // namespace
