// adapt/test_scope.hpp: scopes for tests: count this thread's allocations, forbid them, find what a
// test leaks. Layer: adapt. C++17. For any test framework, and for none.
//
//   TEST(Queue, PushDoesNotAllocate) {
//     queue q(16);
//     const ashlar::test::no_allocation_scope quiet;  // the test fails at the first allocation
//     from here on q.push(1);
//   }
//
// test_scope.h says what a scope counts, what each figure means, and what the limits are.
//
// A failure is one message, which begins with the file and the line of the scope. on_failure gives
// it to the test framework. Without that it goes to standard error, and the process aborts:
//
//   GoogleTest   ashlar::test::on_failure([](const char* message) { ADD_FAILURE() << message; });
//   Catch2       ashlar::test::on_failure([](const char* message) { FAIL_CHECK(message); });
//   doctest      ashlar::test::on_failure([](const char* message) { FAIL_CHECK(message); });
//
// Where a scope cannot count, its constructor fails in the same way. A test that may run on any
// malloc asks first:
//
//   if (!ashlar::test::can_count()) GTEST_SKIP() << "run with LD_PRELOAD=libashlar-malloc.so";
//
// A scope is for the thread that made it, and scopes end in the reverse order of their beginnings,
// as local variables do.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include <ashlar/adapt/test_scope.h>

namespace ashlar::test {

/// What a scope has counted (core/test_calls.h): allocations, frees, bytes_allocated, live_bytes,
/// peak_bytes, ...
using figures = ::ashlar_test_figures;

/// Whose calls a scope has to see. A scope counts all that it can see, this or more.
enum class calls : unsigned {
  malloc_family = ASHLAR_TEST_MALLOC,
  operator_new = ASHLAR_TEST_NEW,
  malloc_and_new = ASHLAR_TEST_MALLOC | ASHLAR_TEST_NEW,
  libashlar = ASHLAR_TEST_LIBASHLAR,  ///< ashlar::allocator, xmalloc, libashlar's other faces
};
[[nodiscard]] constexpr calls operator|(calls a, calls b) noexcept {
  // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): an enumeration of flags
  return static_cast<calls>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// What a no_allocation_scope forbids.
enum class forbid : unsigned {
  allocations = ASHLAR_TEST_ALLOCATIONS,
  allocations_and_frees = ASHLAR_TEST_ALLOCATIONS | ASHLAR_TEST_FREES,
};

/// Returns: whether a scope would see these calls in this process. Complexity: a few microseconds.
/// Thread-safe.
[[nodiscard]] inline bool can_count(calls wanted = calls::malloc_and_new) noexcept {
  return ::ashlar_test_why_not(static_cast<unsigned>(wanted)) == nullptr;
}

/// Gets the message of a failure, without the end of its last line. Requires: it returns, without
/// an exception. It may run inside the forbidden call; what it allocates is not counted then. It
/// begins and ends no scope.
using failure_function = void (*)(const char* message);

namespace detail {
inline std::atomic<failure_function> failed{nullptr};

inline void fail(const char* message) noexcept {
  if (const failure_function tell = failed.load(); tell != nullptr) return tell(message);
  std::fprintf(stderr, "%s\n", message);
  std::abort();
}
}  // namespace detail

/// Effects: failures of all threads go to `tell` from now on; null: to standard error, and the
/// process aborts.
/// Returns: the function before. Thread-safe.
inline failure_function on_failure(failure_function tell) noexcept {
  return detail::failed.exchange(tell);
}

/// Counts.
class count_scope {
 public:
  /// Effects: counts from now on. Fails when it cannot see the `wanted` calls, or not begin
  /// (test_scope.h).
  /// Complexity: some microseconds. Leave out `file` and `line`: they are the caller's.
  explicit count_scope(calls wanted = calls::malloc_and_new, const char* file = __builtin_FILE(),
                       unsigned line = __builtin_LINE()) noexcept
      : count_scope(wanted, 0, file, line) {}
  count_scope(const count_scope&) = delete;
  count_scope& operator=(const count_scope&) = delete;
  ~count_scope() {
    if (is_open_) ::ashlar_test_end(&scope_, nullptr);
  }

  /// Returns: what it has counted so far; all 0 if it could not begin, which was a failure.
  /// Complexity: O(live blocks).
  [[nodiscard]] figures now() const noexcept {
    figures f{};
    if (is_open_ && ::ashlar_test_now(&scope_, &f) != 0)
      fail("the scope is not open in this thread");
    return f;
  }

 protected:
  count_scope(calls wanted, unsigned forbidden, const char* file, unsigned line) noexcept
      : file_(file), line_(line) {
    const ::ashlar_test_rules rules{forbidden, &forbidden_call, this};
    is_open_ = ::ashlar_test_begin(&scope_, static_cast<unsigned>(wanted), &rules) == 0;
    if (is_open_) return;
    const char* const why_not = ::ashlar_test_why_not(static_cast<unsigned>(wanted));
    fail(why_not != nullptr ? why_not : std::strerror(errno));
  }

  /// Effects: returns what it has counted, and ends.
  figures end() noexcept {
    figures f{};
    if (is_open_ && ::ashlar_test_end(&scope_, &f) != 0)
      fail("the scope is not open in this thread");
    is_open_ = false;
    return f;
  }

  void fail(const char* what) const noexcept {
    char message[4096];
    std::snprintf(message, sizeof message, "%s:%u: %s", file_, line_, what);
    detail::fail(message);
  }

 private:
  static void forbidden_call(const ::ashlar_test_call* what, void* scope) {
    static_cast<const count_scope*>(scope)->fail(what->text);
  }

  ::ashlar_test_scope scope_{};
  const char* file_;
  unsigned line_;
  bool is_open_ = false;
};

/// For code that must not allocate, such as real-time code. Its first forbidden call is a failure,
/// whose message names the call, the size and, where the system can tell, the stack. now() has the
/// number of all. A call that gets no memory is forbidden, too.
class no_allocation_scope : public count_scope {
 public:
  explicit no_allocation_scope(forbid what = forbid::allocations,
                               calls wanted = calls::malloc_and_new,
                               const char* file = __builtin_FILE(),
                               unsigned line = __builtin_LINE()) noexcept
      : count_scope(wanted, static_cast<unsigned>(what), file, line) {}
};

/// Fails at its end if blocks live that this thread has allocated in it. The message has their
/// number, their bytes and the sizes of the first eight. When an exception leaves the scope, it
/// does not look: the exception itself lives. What a library keeps from its first use on (a
/// stream's buffer, a locale) is such a block: use it once before.
class leak_scope : public count_scope {
 public:
  explicit leak_scope(calls wanted = calls::malloc_and_new, const char* file = __builtin_FILE(),
                      unsigned line = __builtin_LINE()) noexcept
      : count_scope(wanted, 0, file, line) {}
  ~leak_scope() {
    const figures f = end();
    if (std::uncaught_exceptions() > exceptions_) return;
    if (f.not_followed != 0)
      fail("the system refused memory to follow all blocks: leaks cannot be found");
    if (f.live_blocks != 0) fail_by_leaks(f);
  }

 private:
  void fail_by_leaks(const figures& f) const noexcept {
    char text[512];
    const auto blocks = static_cast<unsigned long long>(f.live_blocks);
    const auto bytes = static_cast<unsigned long long>(f.live_bytes);
    auto used = static_cast<std::size_t>(std::snprintf(
        text, sizeof text, "%llu %s of %llu bytes live on that this scope allocated; sizes:",
        blocks, blocks == 1 ? "block" : "blocks in all", bytes));
    for (std::size_t i = 0; i < ASHLAR_TEST_FIRST_SIZES && i < f.live_blocks; ++i)
      used += static_cast<std::size_t>(
          std::snprintf(text + used, sizeof text - used, "%s %llu", i == 0 ? "" : ",",
                        static_cast<unsigned long long>(f.first_sizes[i])));
    if (f.live_blocks > ASHLAR_TEST_FIRST_SIZES)
      std::snprintf(text + used, sizeof text - used, ", ...");
    fail(text);
  }

  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace ashlar::test
