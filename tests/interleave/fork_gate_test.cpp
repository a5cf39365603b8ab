// The gate around a fork in every order of its accesses: the forking thread is alone inside, nobody waits for it, and what
// each did inside is known to the next.
#include <tests/interleave/model_std.hpp>
// first of all
#include <tests/interleave/model_threads.hpp>
// and that
#include <cstdio>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/runtime/fork_gate.hpp>

namespace {

using ashlar::runtime::fork_gate;

/// Some threads fork, and one uses the heap. What they do there is plain data.
struct fork_program {
  void begin() {
    interleave::single_threaded = 0;
    w.emplace();
  }

  void use(fork_gate::pass& own) {
    if (!w->gate.enter(own)) {
      ++w->refused;
      w->changes.fetch_add(1);  // for a moment it seemed to be inside
      return;
    }
    if (own.own == nullptr && joins) w->gate.join(own, w->places[&own - w->passes]);
    w->heap.write(w->heap.read() + 1);
    ++w->uses;
    w->gate.leave(own);
    w->changes.fetch_add(1);
  }
  void fork(fork_gate::pass& own) {
    // The scheduler knows a wait by its reading one value again and again: so each who leaves changes one.
    int seen = w->changes.load();
    w->gate.close(own, [&](unsigned) {
      int now = seen;
      while (now == seen) now = w->changes.load();
      seen = now;
      return true;
    });
    w->heap.write(w->heap.read() + 1);  // as the child, which has a copy of this moment
    ++w->uses;
    w->gate.open(own);
    w->changes.fetch_add(1);
  }
  void thread(unsigned self) {
    fork_gate::pass& own = w->passes[self];
    for (int round = 0; round < 2; ++round) {
      if (self < forking)
        fork(own);
      else
        use(own);
    }
    if (own.own == nullptr) return;
    w->gate.quit(own);
    w->changes.fetch_add(1);  // it held the lock of the list
  }
  void end() {
    interleave::require(w->heap.read() == w->uses, "two threads were inside at one time");
    interleave::require(w->uses + w->refused == expected, "a use was lost");
  }
  std::string explore(unsigned threads, const interleave::limits& bounds = {}) {
    expected = static_cast<int>(2 * threads);
    const auto seen = interleave::explore(
        threads, {[this] { begin(); }, [this](unsigned t) { thread(t); }, [this] { end(); }},
        bounds);
    std::printf("%llu executions\n", static_cast<unsigned long long>(seen.executions));
    return seen.failure;
  }

  struct world {
    fork_gate gate;
    ashlar::std::atomic<int> changes{0};
    fork_gate::pass passes[interleave::most_threads];
    fork_gate::place places[interleave::most_threads];
    interleave::plain<int> heap;
    int uses = 0, refused = 0;
  };
  unsigned forking;  ///< so many threads fork
  bool joins;        ///< the others join, else they stay strangers
  int expected = 0;
  std::optional<world> w = {};
};

}  // namespace

TEST(ForkGate, AThreadIsNeverInsideWhileAnotherForks) {
  for (const bool joins : {false, true}) {
    EXPECT_EQ((fork_program{.forking = 1, .joins = joins}.explore(2)), "") << joins;
  }
}
TEST(ForkGate, TwoThreadsForkAtOneTime) {
  EXPECT_EQ((fork_program{.forking = 2, .joins = true}.explore(2)), "");
  EXPECT_EQ((fork_program{.forking = 2, .joins = true}.explore(3, {.preemptions = 2})), "");
}
