// core/tagged_stack.hpp in every order of its accesses, and the same without a tag, which must be caught.
#include <tests/interleave/model_std.hpp>
// first of all
#include <cstdint>
#include <optional>
#include <string>
#include <tests/interleave/history.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/core/tagged_stack.hpp>

namespace {

using interleave::access;

/// The same algorithm without a tag: a model of what the tag is for, and of nothing that is shipped.
class untagged_stack {
 public:
  using index_type = std::uint16_t;
  static constexpr index_type none = 0xffff;

  void push(index_type* links, index_type i) {
    index_type top = top_.load(std::memory_order_relaxed);
    do {
      ashlar::std::atomic_ref(links[i]).store(top, std::memory_order_relaxed);
    } while (!top_.compare_exchange_weak(top, static_cast<index_type>(i + 1),
                                         std::memory_order_release, std::memory_order_relaxed));
  }
  index_type pop(index_type* links) {
    index_type top = top_.load(std::memory_order_acquire);
    index_type below = 0;
    do {
      if (top == 0) return none;
      below = ashlar::std::atomic_ref(links[top - 1]).load(std::memory_order_relaxed);
    } while (!top_.compare_exchange_weak(top, below, std::memory_order_acquire,
                                         std::memory_order_acquire));
    return static_cast<index_type>(top - 1);
  }
  template <class Visit>
  void walk(const index_type* links, Visit visit) const {
    for (index_type t = top_.load(); t != 0 && visit(static_cast<index_type>(t - 1));)
      t = links[t - 1];
  }

 private:
  ashlar::std::atomic<index_type> top_{0};
};

enum function : int { push, pop };

/// A stack for one caller at a time.
struct specification {
  std::vector<int> blocks;
  bool apply(const interleave::call& c) {
    if (c.what == push) {
      blocks.push_back(c.value);
      return true;
    }
    if (blocks.empty()) return c.value == -1;
    if (blocks.back() != c.value) return false;
    blocks.pop_back();
    return true;
  }
};

constexpr int block_count = 3;

/// Threads that pop and push what they popped, first in first out, as their scripts say: '-' pops, '+' pushes.
template <class Stack>
struct stack_program {
  explicit stack_program(std::vector<std::string> s) : scripts(std::move(s)) {}

  void begin() {
    w.emplace();
    for (int i = 0; i < block_count; ++i) {
      w->stack.push(w->links, static_cast<typename Stack::index_type>(i));
      w->initial.blocks.push_back(i);
    }
  }

  void thread(unsigned self) {
    std::vector<int> held;
    for (const char step : scripts[self]) {
      if (step == '-') {
        const int i = w->calls.note(pop, [&] {
          const auto got = w->stack.pop(w->links);
          return got == Stack::none ? -1 : int{got};
        });
        if (i < 0) continue;
        // Ours: nobody else may have it, and what its last owner wrote must be seen.
        interleave::require(!w->is_held[i], "a block has two owners");
        w->is_held[i] = true;
        w->payload[i].write(w->payload[i].read() + 1);
        held.push_back(i);
      } else if (!held.empty()) {
        const int i = held.front();
        held.erase(held.begin());
        w->is_held[i] = false;
        w->calls.note(push, [&] {
          w->stack.push(w->links, static_cast<typename Stack::index_type>(i));
          return i;
        });
      }
    }
  }

  void end() {
    int listed = 0;
    w->stack.walk(w->links, [&](int i) {
      interleave::require(!w->is_held[i], "a block is held and on the stack");
      return ++listed <= block_count;
    });
    for (const bool held : w->is_held) listed += held ? 1 : 0;
    interleave::require(listed == block_count, "a block is lost, or on the stack twice");
    interleave::require(w->calls.is_linearisable(w->initial), "no order of calls explains it");
  }

  interleave::outcome explore(const interleave::limits& bounds = {}) {
    return interleave::explore(
        static_cast<unsigned>(scripts.size()),
        {[this] { begin(); }, [this](unsigned t) { thread(t); }, [this] { end(); }}, bounds);
  }

  struct world {
    Stack stack;
    typename Stack::index_type links[block_count] = {};
    interleave::plain<int> payload[block_count];
    bool is_held[block_count] = {};
    interleave::history calls;
    specification initial;
  };
  std::vector<std::string> scripts;
  std::optional<world> w;
};

using tagged = ashlar::detail::tagged_stack<std::uint32_t>;

const std::vector<std::string> three_calls = {"---", "--+", "-+-", "-++"};

TEST(TaggedStack, TwoThreadsOfThreeCallsInEveryOrder) {
  std::uint64_t executions = 0;
  for (const std::string& a : three_calls) {
    for (const std::string& b : three_calls) {
      const auto seen = stack_program<tagged>({a, b}).explore();
      ASSERT_EQ(seen.failure, "") << a << " beside " << b;
      executions += seen.executions;
    }
  }
  std::printf("%llu executions\n", static_cast<unsigned long long>(executions));
}

TEST(TaggedStack, ThreeThreadsWithTwoPreemptions) {
  std::uint64_t executions = 0;
  for (const char* a : {"--+", "-+-"}) {
    const auto seen = stack_program<tagged>({a, "-+-", "--+"}).explore({.preemptions = 2});
    ASSERT_EQ(seen.failure, "") << a;
    executions += seen.executions;
  }
  std::printf("%llu executions\n", static_cast<unsigned long long>(executions));
}

TEST(TaggedStack, WithoutATagABAIsFound) {
  const auto seen = stack_program<untagged_stack>({"-", "--+"}).explore();
  EXPECT_NE(seen.failure, "") << seen.executions
                              << " executions and no ABA: the scheduler is blind";
  std::printf("after %llu executions: %s\n", static_cast<unsigned long long>(seen.executions),
              seen.failure.c_str());
}

}  // namespace
