// bench/workloads/growth.cpp: what an operation costs as the number of live blocks grows. Beside
// each figure stands `no_calls`: the same addresses in the same order with no call, for caches and
// TLB miss more often too when there are more blocks, whoever allocated them.
#include "workloads.hpp"

namespace bench {

void growth(const arguments& given) {
  never_counted("growth");
  const std::size_t live = number(given[0], 10'000, 1'000, 100'000'000);
  constexpr std::size_t size_bytes = 16;
  // Few blocks are built and torn down several times per repetition, for the clock's sake.
  const std::size_t rounds = live < 1'000'000 ? 1'000'000 / live : 1;
  const std::size_t churned = quick ? 500'000 : 2'000'000;
  const std::size_t repeat = live > 10'000'000 ? 1 : live > 1'000'000 ? 2 : repetitions(9);
  page_array<void*> blocks(live);
  random_source random(89);

  const auto build = [&] {
    for (std::size_t i = 0; i < live; ++i) touch_first(blocks[i] = take(size_bytes), i);
  };
  const auto tear_down = [&] {
    for (void* block : blocks) give(block);
  };
  // Only the building is timed; the untimed first one takes the page faults.
  series built = sample_timed(repeat, live * rounds, [&] {
    double elapsed = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto start = clock::now();
      build();
      elapsed += nanoseconds(clock::now() - start);
      tear_down();
    }
    return elapsed;
  });
  build();
  series rewritten = sample(repeat, live * rounds, [&] {
    for (std::size_t round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < live; ++i) touch_first(blocks[i] = opaque(blocks[i]), i);
  });
  series visited = sample(repeat, churned, [&] {
    for (std::size_t i = 0; i < churned; ++i) {
      const std::size_t place = random.below(live);
      touch_first(blocks[place] = opaque(blocks[place]), place);
    }
  });
  series replaced = sample(repeat, churned, [&] {
    for (std::size_t i = 0; i < churned; ++i) {
      const std::size_t place = random.below(live);
      give(blocks[place]);
      touch_first(blocks[place] = take(size_bytes), place);
    }
  });
  check_first_words(blocks);
  tear_down();
  report("growth", label("%zu/build", live), "ns/op", built, live * rounds, kind::time,
         {"no_calls", rewritten.quantile(0.5)});
  report("growth", label("%zu/churn", live), "ns/op", replaced, churned, kind::time,
         {"no_calls", visited.quantile(0.5)});
}

}  // namespace bench
