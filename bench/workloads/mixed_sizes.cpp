// bench/workloads/mixed_sizes.cpp: sizes and lifetimes as programs have them, on one thread: the
// values of expressions, and a long-tailed mix at three sizes of the live set.
#include <algorithm>
#include <array>
#include <cstring>

#include "workloads.hpp"

namespace bench {
namespace {

// A number of 1 to 8 limbs in a block of its own, its length in the evaluator's hands.
struct value {
  std::uint64_t* limbs = nullptr;
  std::size_t length = 0;
};
constexpr std::size_t most_limbs = 8;

// A stack machine: constants are pushed, two values are added and leave for their sum (last in,
// first out), and now and then a result becomes a variable and ends the oldest of those (first in,
// first out). Memory is where Heap says.
template <class Heap>
class evaluator {
 public:
  explicit evaluator(Heap heap) : heap_(heap) {}
  // Evaluates `steps` of them, frees all, and returns the sum of the variables' lowest limbs: it
  // depends on every value and on no address.
  std::uint64_t run(std::size_t steps) {
    random_source random(71);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      const std::uint64_t drawn = random.next();
      if (depth_ < 2 || (depth_ < stack_.size() && (drawn & 1) != 0))
        push_constant(drawn);
      else
        add_top_two();
      if ((drawn & 0xe) == 0) sum += assign_top(i);
    }
    while (depth_ > 0) give_value(stack_[--depth_]);
    for (auto& variable : variables_) {
      sum += lowest(variable);
      give_value(variable);
    }
    return sum;
  }

 private:
  value take_value(std::size_t length) {
    return {static_cast<std::uint64_t*>(heap_.take(length * sizeof(std::uint64_t))), length};
  }
  void give_value(value& old) {
    if (old.limbs != nullptr) heap_.give(old.limbs);
    old = {};
  }
  static std::uint64_t lowest(const value& one) { return one.limbs == nullptr ? 0 : one.limbs[0]; }
  void push_constant(std::uint64_t drawn) {
    value fresh = take_value(1 + (drawn >> 32) % (most_limbs - 1));
    for (std::size_t i = 0; i < fresh.length; ++i) fresh.limbs[i] = drawn + i;
    stack_[depth_++] = fresh;
  }
  // A carry out of the top may make the sum a limb longer than the longer operand.
  void add_top_two() {
    value right = stack_[--depth_], left = stack_[--depth_];
    if (left.length < right.length) std::swap(left, right);
    value sum = take_value(std::min(left.length + 1, most_limbs));
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < sum.length; ++i) {
      const std::uint64_t a = i < left.length ? left.limbs[i] : 0;
      const std::uint64_t b = i < right.length ? right.limbs[i] : 0;
      const std::uint64_t partial = a + carry;
      sum.limbs[i] = partial + b;
      carry =
          static_cast<std::uint64_t>(partial < a) | static_cast<std::uint64_t>(sum.limbs[i] < b);
    }
    give_value(right);
    give_value(left);
    stack_[depth_++] = sum;
  }
  std::uint64_t assign_top(std::size_t step) {
    value& oldest = variables_[step % variables_.size()];
    const std::uint64_t low = lowest(oldest);
    give_value(oldest);
    oldest = stack_[--depth_];
    return low;
  }
  Heap heap_;
  std::array<value, 8> stack_{};
  std::size_t depth_ = 0;
  std::array<value, 8> variables_{};
};

struct heap_under_test {
  void* take(std::size_t size_bytes) { return bench::take(size_bytes); }
  void give(void* block) { bench::give(block); }
};

// A stack of fixed slots: what the result must be, found without the allocator under test.
class fixed_slots {
 public:
  fixed_slots() {
    for (std::size_t i = 0; i < free_.size(); ++i) free_[i] = i;
  }
  void* take(std::size_t) { return slots_[free_[--free_count_]].data(); }
  void give(void* block) {
    const auto offset = static_cast<std::size_t>(static_cast<char*>(block) -
                                                 reinterpret_cast<char*>(slots_.data()));
    free_[free_count_++] = offset / sizeof slots_[0];
  }

 private:
  std::array<std::array<std::uint64_t, most_limbs>, 32> slots_{};
  std::array<std::size_t, 32> free_{};
  std::size_t free_count_ = 32;
};

}  // namespace

void bignum(const arguments&) {
  constexpr std::size_t steps = 1'000'000;
  const std::uint64_t expected = evaluator(fixed_slots()).run(steps);
  auto result = sample(repetitions(15), steps, [&] {
    if (evaluator(heap_under_test()).run(steps) != expected)
      fail("the expressions have another value than without the allocator");
  });
  report("bignum", "8-64", "ns/op", result, steps);
}

void pareto(const arguments& given) {
  const std::size_t live_limit = number(given[0], 512 << 10, 64 << 10, std::size_t{1} << 32);
  constexpr double alpha = 1.1;
  const size_table sizes(
      [random = random_source(73)]() mutable { return random.pareto(16, 0xffff, alpha); });
  std::size_t blocks_needed = 0;
  for (std::size_t live_bytes = 0; live_bytes < live_limit; ++blocks_needed)
    live_bytes += sizes[blocks_needed];
  page_array<void*> blocks(blocks_needed);
  const resident_growth held;
  for (std::size_t i = 0; i < blocks_needed; ++i) mark(blocks[i] = take(sizes[i]), sizes[i], i);
  random_source random(79);
  const std::size_t count = live_limit > 64 << 20 ? 300'000 : 1'000'000;
  auto result = sample(repetitions(9), count, [&] {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t drawn = random.next();
      const auto place = static_cast<std::size_t>(((drawn >> 32) * blocks_needed) >> 32);
      const std::size_t size_bytes = sizes[drawn % size_table::count];
      give(blocks[place]);
      mark(blocks[place] = take(size_bytes), size_bytes, place);
    }
  });
  // What is held for what is live now, after so much replacement.
  const double held_bytes = held.now_bytes();
  double live_bytes = 0;
  for (void* block : blocks) live_bytes += static_cast<double>(marked_size(block));
  check_and_give_all(blocks);
  report("pareto", label("%zuK", live_limit >> 10), "ns/pair", result, count);
  // A smaller live set weighs less than the allocator's own code and first pages.
  if (live_limit >= 4 << 20)
    report("pareto", label("%zuK/held", live_limit >> 10), "ratio", series(held_bytes / live_bytes),
           count, kind::ratio, {"live_kib", live_bytes / 1024});
}

}  // namespace bench
