// The tests of the small sources of tools/tune: a part for each, with its name.
#include <tests/support/test_headers.hpp>

#include <ashlar/heap/class_table.hpp>
#include <ashlar/pool/pool_set.hpp>

#include "tools/tune/heap_tuning.hpp"
#include "tools/tune/interval_program.hpp"
#include "tools/tune/tuning.hpp"
#include "tools/tune/workloads_test.hpp"

namespace ashlar::tune {
namespace {

using profiling::heap_grid;
using profiling::heap_row;

// ---- heap_tuning -------------------------------------------------------------------------------
// The choice against trying all choices; what is always there. (That blocks are counted right: tools/profile.)

heap_row asked(std::uint64_t size, std::uint64_t blocks, std::uint64_t alignment = 0) {
  return {.step = heap_grid::step_of(size),
          .alignment = heap_grid::alignment_of(alignment),
          .births = 1,
          .at_peak = {.blocks = blocks, .bytes = blocks * size},
          .mean_1024 = {}};
}

bool has(const heap_classes& chosen, std::uint32_t size) {
  return std::ranges::find(chosen.sizes, size) != chosen.sizes.end();
}

/// Classes that serve something cost; so does slack.
double cost_of(const std::vector<heap_row>& sizes, const std::vector<std::uint32_t>& classes) {
  std::map<std::uint32_t, bool> used;
  for (const heap_row& of : sizes)
    used[*std::ranges::lower_bound(classes, heap_grid::size_of(of.step))] = true;
  return slack_with(sizes, classes).at_peak + static_cast<double>(used.size() * heap_class_bytes);
}

TEST(HeapClasses, AreTheCheapestOfAllChoices) {
  std::mt19937 random(20261122);
  const auto below = [&random](std::uint32_t n) {
    return static_cast<std::uint32_t>(random() % n);
  };
  for (int round = 0; round < support::times(300); ++round) {
    std::vector<heap_row> sizes;
    const std::uint32_t kinds = 1 + below(9);
    for (std::uint32_t i = 0; i < kinds; ++i)
      sizes.push_back(asked(1 + below(below(2) == 0 ? 600 : 5000), below(4000)));
    std::vector<std::uint32_t> ladder, free;
    for (std::uint32_t size = 16; size <= small_size_max; size *= 2) ladder.push_back(size);
    for (const heap_row& of : sizes) {
      const auto block = static_cast<std::uint32_t>(heap_grid::size_of(of.step));
      if (!std::has_single_bit(block) && std::ranges::find(free, block) == free.end())
        free.push_back(block);
    }
    const std::size_t most = ladder.size() + below(6);
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t set = 0; set < 1u << free.size(); ++set) {
      if (ladder.size() + static_cast<std::size_t>(std::popcount(set)) > most) continue;
      std::vector<std::uint32_t> classes = ladder;
      for (std::size_t i = 0; i < free.size(); ++i)
        if ((set >> i & 1) != 0) classes.push_back(free[i]);
      std::ranges::sort(classes);
      least = std::min(least, cost_of(sizes, classes));
    }
    const heap_classes chosen = choose_heap_classes(sizes, {.classes = most, .by = weigh::at_peak});
    EXPECT_LE(chosen.sizes.size(), most);
    ASSERT_NEAR(cost_of(sizes, chosen.sizes), least, 1e-6 * least) << "round " << round;
  }
}

TEST(HeapClasses, AHeapCanHaveThemWhateverWasAsked) {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    std::vector<heap_row> sizes;
    for (int i = 0; i < 400; ++i)
      sizes.push_back(
          asked(random() % 200'000, random() % 1'000'000, std::uint64_t{1} << random() % 15));
    const std::size_t most = least_heap_classes() + random() % (class_count - least_heap_classes());
    const heap_classes chosen = choose_heap_classes(sizes, {.classes = most});
    std::size_t at = 0;
    ASSERT_EQ(ashlar::detail::what_is_wrong_with(chosen.sizes, at), nullptr);
    EXPECT_LE(chosen.sizes.size(), most);
    for (std::uint32_t size = 16; size <= small_size_max; size *= 2) EXPECT_TRUE(has(chosen, size));
  }
}

TEST(HeapClasses, ManyBlocksOfASizeGetTheirClassAndFewDoNot) {
  const std::vector<heap_row> sizes = {asked(1100, 10'000), asked(1024, 5000), asked(600, 3)};
  const heap_classes chosen = choose_heap_classes(sizes, {});
  EXPECT_TRUE(has(chosen, 1104));
  EXPECT_FALSE(has(chosen, 608)) << "3 blocks' slack on 1024 is less than a class costs";
  EXPECT_EQ(chosen.used, 2u);
  EXPECT_DOUBLE_EQ(chosen.slack.at_peak, 10'000.0 * 4 + 3 * (1024 - 600));
  EXPECT_DOUBLE_EQ(chosen.standard_slack.at_peak, 10'000.0 * (1152 - 1100) + 3 * (640 - 600));
}

TEST(HeapClasses, OverAlignedRequestsGetAMultipleOfTheirAlignment) {
  const std::vector<heap_row> sizes = {asked(192, 10'000, 64), asked(100, 10'000),
                                       asked(200, 10'000), asked(96, 1, 32)};
  const heap_classes chosen = choose_heap_classes(sizes, {});
  EXPECT_TRUE(has(chosen, 192));
  EXPECT_TRUE(has(chosen, 112));
  EXPECT_TRUE(has(chosen, 208));
  EXPECT_FALSE(has(chosen, 96));
  EXPECT_DOUBLE_EQ(chosen.slack.at_peak, 10'000.0 * (0 + 12 + 8) + 32);
}

TEST(HeapClasses, RequestsWithoutAClassDoNotCount) {
  const heap_classes chosen =
      choose_heap_classes(std::vector{asked(small_size_max + 1, 1000), asked(100, 1000, 8192)}, {});
  EXPECT_EQ(chosen.used, 0u);
  EXPECT_EQ(chosen.sizes.size(), least_heap_classes());
  EXPECT_DOUBLE_EQ(chosen.requested.at_peak, 0.0);
}

// ---- partition ---------------------------------------------------------------------------------
// The partition is the cheapest there is: against every partition of small random workloads, and against other rules.

// The peak of an interval, by counting.
std::uint64_t counted_peak(const workload& load, interval served) {
  std::int64_t most = 0;
  for (const series& trace : load.traces) {
    std::int64_t alive = 0;
    for (const std::int32_t change : trace) {
      const auto n = static_cast<std::size_t>(need_of(change));
      if (n < served.first || n > served.last) continue;
      alive += is_birth(change) ? 1 : -1;
      most = std::max(most, alive);
    }
  }
  return static_cast<std::uint64_t>(most);
}

// The least bytes of all partitions, at [k - 1] of those into k parts or fewer: each of the 2^(needs - 1) is tried.
std::vector<std::uint64_t> least_of_all(const workload& load, std::uint64_t margin) {
  const std::size_t needs = load.needs.size();
  std::vector<std::vector<size_class>> made(needs, std::vector<size_class>(needs));
  for (std::size_t i = 0; i < needs; ++i) {
    for (std::size_t j = i; j < needs; ++j)
      made[i][j] = class_for(load.needs, {i, j}, counted_peak(load, {i, j}), margin);
  }
  std::vector<std::uint64_t> least(needs, UINT64_MAX);
  for (std::size_t cuts = 0; cuts < std::size_t{1} << (needs - 1); ++cuts) {
    std::vector<size_class> classes;
    std::size_t first = 0;
    for (std::size_t n = 0; n < needs; ++n) {
      if (n + 1 < needs && (cuts >> n & 1) == 0) continue;
      classes.push_back(made[first][n]);
      first = n + 1;
    }
    std::uint64_t& known = least[classes.size() - 1];
    known = std::min(known, set_bytes(classes));
  }
  for (std::size_t k = 1; k < needs; ++k) least[k] = std::min(least[k], least[k - 1]);
  return least;
}

TEST(Partition, IsTheCheapestOfAll) {
  for (std::uint32_t seed = 0; seed < support::times(10'000u); ++seed) {
    std::mt19937 random(seed);
    const workload load = small_random_workload(random);
    const std::uint64_t margin = random() % 3 == 0 ? random() % 60 : 0;
    const interval_peaks peaks(load);
    const std::vector<std::uint64_t> least = least_of_all(load, margin);
    const partition_search found =
        cheapest_partitions(peaks, load.needs.size(), search_for::each_number, margin);
    for (std::size_t k = 0; k < least.size(); ++k) {
      ASSERT_EQ(found.best[k].bytes, least[k]) << "seed " << seed << ", at most " << k + 1;
      ASSERT_EQ(set_bytes(found.best[k].classes), least[k]) << seed;
      ASSERT_LE(found.best[k].classes.size(), k + 1) << seed;
    }
    const std::size_t some = 1 + random() % least.size();
    ASSERT_EQ(cheapest_partitions(peaks, some, search_for::largest_only, margin).best.back().bytes,
              least[some - 1])
        << seed;
  }
}

TEST(Partition, ServesEachRequestByTheClassOfItsInterval) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const workload load = small_random_workload(random);
    const interval_peaks peaks(load);
    const partition best = cheapest_partitions(peaks, 3, search_for::largest_only, 0).best.back();
    std::size_t next = 0;
    for (std::size_t c = 0; c < best.parts.size(); ++c) {
      ASSERT_EQ(best.parts[c].first, next);
      ASSERT_EQ(best.classes[c].peak, counted_peak(load, best.parts[c])) << seed;
      for (; next <= best.parts[c].last; ++next) {
        // As pool_set's class_of: the smallest class that is large and aligned enough.
        const auto serves = std::ranges::find_if(best.classes, [&](const size_class& made) {
          return made.block_size >= load.needs[next].size &&
                 made.alignment >= load.needs[next].alignment;
        });
        ASSERT_EQ(serves - best.classes.begin(), static_cast<std::ptrdiff_t>(c)) << seed;
      }
    }
    ASSERT_EQ(next, load.needs.size());
  }
}

void expect_few_moments_to_be_a_witness(const workload& load) {
  const interval_peaks peaks(load);
  const partition_search found = cheapest_partitions(peaks, 8, search_for::each_number, 0);
  peak_bounds bounds(load.needs.size());
  for (const moment at : found.witness) bounds.raise(peaks.alive_below(at));
  interval_program program(load.needs, 8, 0);
  program.run(bounds);
  for (std::size_t k = 1; k <= 8; ++k) {
    EXPECT_EQ(program.least(k), found.best[k - 1].bytes);
    for (const interval part : found.best[k - 1].parts) {
      EXPECT_EQ(static_cast<std::uint64_t>(bounds.at(part.first, part.last)),
                counted_peak(load, part));
    }
  }
  EXPECT_LT(found.witness.size(), 200u);
}

TEST(Partition, FewMomentsAreAWitnessThatNothingIsCheaper) {
  std::mt19937 random(7);
  expect_few_moments_to_be_a_witness(random_workload(random, 200, 40'000, 2));
}

// So many needs that the search looks at groups of them first.
TEST(Partition, FewMomentsAreAWitnessForManyNeeds) {
  std::mt19937 random(9);
  workload load;
  while (load.needs.size() <= 5000) load = random_workload(random, 12'000, 30'000, 2);
  expect_few_moments_to_be_a_witness(load);
}

// ---- sizing ------------------------------------------------------------------------------------
// The arithmetic of geometry.hpp is the pools' own: compared with sizeof of real sets, when this is compiled.

template <std::size_t Size, std::size_t Count, std::size_t Alignment>
constexpr bool one_class_agrees =
    sizeof(static_pool_set<blocks<Size, Count, Alignment>, spill::never>) ==
    class_bytes({Size, Alignment}, Count);

template <std::size_t Size, std::size_t Alignment>
constexpr bool counts_agree =
    one_class_agrees<Size, 1, Alignment> && one_class_agrees<Size, 2, Alignment> &&
    one_class_agrees<Size, 15, Alignment> && one_class_agrees<Size, 253, Alignment> &&
    one_class_agrees<Size, 254, Alignment> && one_class_agrees<Size, 1000, Alignment> &&
    one_class_agrees<Size, 65'533, Alignment> && one_class_agrees<Size, 65'534, Alignment>;

static_assert(counts_agree<1, 1>);
static_assert(counts_agree<8, 8>);
static_assert(counts_agree<24, 8>);
static_assert(counts_agree<16, 16>);
static_assert(counts_agree<400, 16>);
static_assert(counts_agree<64, 64>);
static_assert(counts_agree<4096, 4096>);
static_assert(counts_agree<5008, 4096>);

template <std::size_t Size, std::size_t Count, std::size_t Alignment>
size_class as_class(blocks<Size, Count, Alignment>) {
  return {Size, class_alignment(Alignment), Count, Count, class_bytes({Size, Alignment}, Count)};
}

template <class... Blocks>
void expect_set_agrees() {
  const std::vector<size_class> classes{as_class(Blocks{})...};
  EXPECT_EQ(set_bytes(classes), sizeof(static_pool_set<Blocks..., spill::never>));
  EXPECT_EQ(set_bytes(classes), sizeof(static_pool_set<Blocks..., spill::take_larger>));
}

TEST(Geometry, ASetIsItsClassesTogether) {
  expect_set_agrees<blocks<16, 3>, blocks<48, 300>, blocks<1024, 7>>();
  expect_set_agrees<blocks<16, 3, 16>, blocks<64, 3, 64>, blocks<128, 70'000, 16>>();
  expect_set_agrees<blocks<8, 5, 8>, blocks<4096, 2, 4096>, blocks<5000, 1, 8>,
                    blocks<8192, 3, 16>>();
  expect_set_agrees<blocks<64, 1, 64>, blocks<72, 1, 8>, blocks<256, 9, 256>>();
}

TEST(Geometry, WhatIsTooLargeSaysSo) {
  EXPECT_EQ(class_bytes({std::size_t{1} << 36, 16}, std::uint64_t{1} << 31), too_many_bytes);
  EXPECT_EQ(class_bytes({16, 16}, std::uint64_t{1} << 60), too_many_bytes);
}

// ---- tuning ------------------------------------------------------------------------------------

std::string why_impossible(const workload& load, const tuning_request& request) {
  try {
    (void)tune_static(load, request);
  } catch (const impossible& error) {
    return error.what();
  }
  return "";
}

TEST(Tuning, TheKneeIsWhereMoreClassesSaveLittle) {
  EXPECT_EQ(knee_of({1000, 500, 400, 390, 385}, 10'000), 3u);
  EXPECT_EQ(knee_of({1000, 500, 400, 390, 385}, 390), 4u) << "another rule does better with more";
  EXPECT_EQ(knee_of({1000, 500, 400, 390, 385}, 1), 5u);
  EXPECT_EQ(knee_of({700, 700}, 10'000), 1u);
}

TEST(Tuning, AtTheKneeItIsNotWorseThanThePowerOfTwoRule) {
  for (std::uint32_t seed = 0; seed < support::times(30u); ++seed) {
    std::mt19937 random(seed);
    const workload load = random_workload(random, 300, 3000, 1);
    const interval_peaks peaks(load);
    const tuning made = tune_static(load, {});
    EXPECT_EQ(made.bytes, set_bytes(made.classes));
    EXPECT_EQ(made.bytes, made.curve[made.asked_classes - 1]);
    EXPECT_LE(made.bytes, set_bytes(power_of_two_rule(peaks, 0))) << seed;
  }
}

TEST(Tuning, ABudgetIsKeptOrTheLeastPossibleIsTold) {
  std::mt19937 random(3);
  const workload load = random_workload(random, 300, 5000, 2);
  const tuning knee = tune_static(load, {});
  const std::uint64_t least = knee.curve.back();
  ASSERT_LT(least, knee.bytes);
  const tuning within = tune_static(load, {.budget_bytes = least});
  EXPECT_EQ(within.bytes, least);
  EXPECT_GT(within.asked_classes, knee.asked_classes);
  const std::string why = why_impossible(load, {.budget_bytes = least - 1});
  EXPECT_NE(why.find(std::to_string(least)), std::string::npos) << why;
  EXPECT_NE(why_impossible(load, {.classes = 2, .budget_bytes = least}), "");
}

TEST(Tuning, AMarginIsOnEachCapacity) {
  std::mt19937 random(5);
  const workload load = random_workload(random, 40, 900, 1);
  for (const size_class& c : tune_static(load, {.classes = 4, .margin_percent = 7}).classes)
    EXPECT_EQ(c.capacity, (c.peak * 107 + 99) / 100);
}

}  // namespace

}  // namespace ashlar::tune
