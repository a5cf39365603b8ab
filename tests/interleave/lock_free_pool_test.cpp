// A lock_free pool in every order of its accesses: blocks have one owner, null means that all were in use, and of two
// that free one block at the same time one is told.
#include <tests/interleave/model_std.hpp>
// first of all
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <tests/interleave/faults.hpp>
#include <tests/interleave/history.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/pool/static_pool.hpp>

namespace {

constexpr std::size_t capacity = 2;
using element = interleave::plain<int>;
using pool_type = ashlar::static_pool<element, capacity, ashlar::lock_free<std::uint32_t>>;

enum function : int { take, give };

/// Blocks for one caller at a time: which one is given is nobody's business.
struct specification {
  std::size_t in_use = 0;
  bool apply(const interleave::call& c) {
    if (c.what == give) {
      --in_use;
      return true;
    }
    if (c.value < 0) return in_use == capacity;
    return in_use < capacity && ++in_use != 0;
  }
};

struct world {
  pool_type pool;
  interleave::history calls;
  std::set<const element*> owned;
  std::size_t left = 0;
};

/// Threads that take blocks ('-') and give the oldest back ('+').
struct pool_program {
  void begin() { w.emplace(); }
  void thread(unsigned self) {
    std::vector<element*> held;
    for (const char step : scripts[self]) {
      if (step == '-') {
        element* got = nullptr;
        w->calls.note(take, [&] {
          got = static_cast<element*>(w->pool.try_allocate());
          return got == nullptr ? -1 : 0;
        });
        if (got == nullptr) continue;
        got->write(got->read() + 1);
        held.push_back(got);
        interleave::require(w->owned.insert(got).second, "a block has two owners");
      } else if (!held.empty()) {
        element* const mine = held.front();
        held.erase(held.begin());
        w->owned.erase(mine);
        w->calls.note(give, [&] {
          w->pool.deallocate(mine);
          return 0;
        });
      }
    }
    w->left += held.size();
  }
  void end() {
    const ashlar::pool_stats s = w->pool.stats();
    interleave::require(w->pool.audit(), "the pool's invariant is broken");
    interleave::require(s.blocks_in_use == w->left, "in use is not what callers hold");
    interleave::require(s.peak_in_use >= w->left && s.peak_in_use <= capacity, "a wrong peak");
    interleave::require(w->calls.is_linearisable(specification{}), "no order of calls explains it");
  }
  interleave::outcome explore(const interleave::limits& bounds = {}) {
    return interleave::explore(
        static_cast<unsigned>(scripts.size()),
        {[this] { begin(); }, [this](unsigned t) { thread(t); }, [this] { end(); }}, bounds);
  }

  std::vector<std::string> scripts;
  std::optional<world> w = {};
};

TEST(LockFreePool, TwoThreadsInEveryOrder) {
  std::uint64_t executions = 0;
  for (const auto& scripts : std::vector<std::vector<std::string>>{
           {"-", "-"}, {"-+", "-"}, {"-+", "--"}, {"-", "--+"}, {"-+-", "-"}}) {
    const auto seen = pool_program{scripts}.explore();
    ASSERT_EQ(seen.failure, "") << scripts[0] << " beside " << scripts[1];
    executions += seen.executions;
  }
  std::printf("%llu executions\n", static_cast<unsigned long long>(executions));
}

TEST(LockFreePool, LongerOnesAndThreeThreadsWithTwoPreemptions) {
  std::uint64_t executions = 0;
  for (const auto& scripts : std::vector<std::vector<std::string>>{
           {"--++-", "-+--+"}, {"-+-+", "-+-+"}, {"-+", "-+", "-"}, {"--", "-", "-+"}}) {
    const auto seen = pool_program{scripts}.explore({.preemptions = 2});
    ASSERT_EQ(seen.failure, "") << scripts[0] << " beside " << scripts[1];
    executions += seen.executions;
  }
  std::printf("%llu executions\n", static_cast<unsigned long long>(executions));
}

TEST(LockFreePool, OfTwoThatFreeOneBlockAtTheSameTimeOneIsTold) {
  std::optional<pool_type> pool;
  void* block = nullptr;
  const auto seen = interleave::explore(
      2, {[&] {
            pool.emplace();
            block = pool->try_allocate();
            interleave::faults = 0;
          },
          [&](unsigned) { pool->deallocate(block); },
          [&] {
            interleave::require(interleave::faults == 1, "not one fault");
            interleave::require(pool->audit(), "damaged");
            interleave::require(pool->stats().blocks_in_use == 0, "the block is still in use");
          }});
  EXPECT_EQ(seen.failure, "");
  EXPECT_GT(seen.executions, 1u);
}

TEST(LockFreePool, AllThatTakeAtOnceAreInThePeak) {
  std::optional<ashlar::detail::atomic_counters> counters;
  const auto seen = interleave::explore(
      3,
      {[&] { counters.emplace(); }, [&](unsigned) { counters->allocated(); },
       [&] { interleave::require(counters->peak() == 3, "the peak lost somebody"); }},
      {.preemptions = 3});
  EXPECT_EQ(seen.failure, "");
}

}  // namespace
