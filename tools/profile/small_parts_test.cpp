// The tests of the small sources of tools/profile: a part for each, with its name.
#include <tests/support/test_headers.hpp>

#include <ashlar/heap/class_table.hpp>

#include "tools/profile/profile_file.hpp"
#include "tools/profile/runs_test.hpp"

namespace ashlar::profiling {
namespace {

using namespace test;

// ---- heap_counter ------------------------------------------------------------------------------

/// The definition: all sizes are copied at each new peak, and added up at each tick.
std::vector<heap_row> counted_rows(const run& from, std::uint64_t& peak_bytes) {
  using key = std::pair<std::uint32_t, std::uint64_t>;
  struct figures {
    alive now;
    alive at_peak;
    alive over_time;
    std::uint64_t births = 0;
  };
  std::map<key, figures> lines;
  std::uint64_t bytes = 0;
  std::uint64_t time = from.empty() ? 0 : from.front().time;
  for (const change& c : from) {
    for (; time < c.time; ++time) {
      for (auto& [size, line] : lines) {
        line.over_time.blocks += line.now.blocks;
        line.over_time.bytes += line.now.bytes;
      }
    }
    figures& of = lines[{heap_grid::step_of(c.size), c.alignment > 16 ? c.alignment : 0}];
    if (c.is_death) {
      --of.now.blocks;
      of.now.bytes -= c.size;
      bytes -= c.size;
      continue;
    }
    ++of.births;
    ++of.now.blocks;
    of.now.bytes += c.size;
    bytes += c.size;
    if (bytes <= peak_bytes) continue;
    peak_bytes = bytes;
    for (auto& [size, line] : lines) line.at_peak = line.now;
  }
  const std::uint64_t ticks =
      std::max<std::uint64_t>(from.empty() ? 0 : from.back().time - from.front().time, 1);
  std::vector<heap_row> rows;
  for (const auto& [size, line] : lines) {
    rows.push_back(
        {.step = size.first,
         .alignment = size.second,
         .births = line.births,
         .at_peak = line.at_peak,
         .mean_1024 = {.blocks = (line.over_time.blocks * 1024 + ticks - 1) / ticks,
                       .bytes = at_most_64_bits(wide{line.over_time.bytes} * 1024 / ticks)}});
  }
  return rows;
}

heap_counter followed(const run& from) {
  heap_counter counter;
  for (const change& c : from) {
    if (c.is_death) {
      counter.death(c.time, c.size, c.alignment);
    } else {
      counter.birth(c.time, c.size, c.alignment);
    }
  }
  return counter;
}

TEST(HeapCounter, EqualsCopiesTakenAtEachPeakAndSumsOverEachTick) {
  for (std::uint64_t seed = 0; seed < support::times(200u); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const run made = test::random_run(random, random() % 300, 1 + seed % 40);
    const heap_counter counter = followed(made);
    std::uint64_t peak_bytes = 0;
    ASSERT_EQ(counter.rows(), counted_rows(made, peak_bytes));
    EXPECT_EQ(counter.peak_bytes(), peak_bytes);
    EXPECT_EQ(counter.duration(), made.empty() ? 0 : made.back().time - made.front().time);
  }
}

TEST(HeapCounter, ATimeThatGoesBackCountsAsTheLast) {
  heap_counter counter;
  counter.birth(50, 8, 0);
  counter.birth(60, 8, 0);
  counter.death(55, 8, 0);
  counter.death(70, 8, 0);
  EXPECT_EQ(counter.duration(), 20u);
  EXPECT_EQ(counter.rows().front().mean_1024.blocks, 1024u);
}

// ---- peak_counter ------------------------------------------------------------------------------

constexpr std::size_t steps = peak_counter::steps;

/// The definition, event by event.
class counted {
 public:
  void birth(std::uint32_t step) {
    used_[step] = true;
    ++alive_[step];
    for (std::size_t first = 0; first <= step; ++first) {
      std::uint32_t sum = 0;
      for (std::size_t last = first; last < steps; ++last) {
        sum += alive_[last];
        std::uint32_t& most = most_[first * steps + last];
        most = std::max(most, sum);
      }
    }
  }
  void death(std::uint32_t step) { --alive_[step]; }
  [[nodiscard]] bool used(std::size_t step) const { return used_[step]; }
  [[nodiscard]] std::uint32_t peak(std::size_t first, std::size_t last) const {
    return most_[first * steps + last];
  }

 private:
  std::vector<bool> used_ = std::vector<bool>(steps);
  std::vector<std::uint32_t> alive_ = std::vector<std::uint32_t>(steps);
  std::vector<std::uint32_t> most_ = std::vector<std::uint32_t>(steps * steps);
};

void expect_same(peak_counter& found, const counted& right) {
  const peak_counter::result all = found.snapshot();
  std::vector<std::uint32_t> used;
  for (std::uint32_t step = 0; step < steps; ++step)
    if (right.used(step)) used.push_back(step);
  ASSERT_EQ(all.used, used);
  ASSERT_EQ(all.peaks.count(), used.size());
  for (std::size_t first = 0; first < used.size(); ++first)
    for (std::size_t last = first; last < used.size(); ++last)
      ASSERT_EQ(all.peaks.at(first, last), right.peak(used[first], used[last]))
          << used[first] << " to " << used[last];
}

struct shape {
  peak_counter::window_limits window;
  std::size_t changes, most_sizes;
};

void compare_on_random_runs(const shape& of, std::uint32_t seeds) {
  for (std::uint32_t seed = 0; seed < support::times(seeds); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", window of " << of.window.sizes
                                    << " sizes, " << of.window.events << " events");
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    peak_counter found(of.window);
    counted right;
    std::vector<std::uint32_t> live;
    std::vector<std::uint32_t> sizes(1 + below(of.most_sizes));
    for (std::uint32_t& size : sizes) size = static_cast<std::uint32_t>(below(steps));
    std::size_t deaths_in_hundred = 45;
    std::size_t in_use = 1;  // of `sizes`: they come into use by and by
    for (std::size_t c = 0; c < of.changes; ++c) {
      if (below(30) == 0) {
        deaths_in_hundred = 10 + below(85);
        in_use = std::min(sizes.size(), in_use + below(4));
      }
      if (!live.empty() && below(100) < deaths_in_hundred) {
        const std::size_t which = below(live.size());
        found.death(live[which]);
        right.death(live[which]);
        live[which] = live.back();
        live.pop_back();
      } else {
        live.push_back(sizes[below(in_use)]);
        found.birth(live.back());
        right.birth(live.back());
      }
      if (below(of.changes) == 0) expect_same(found, right);  // a look in between changes nothing
    }
    expect_same(found, right);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(PeakCounter, EqualsCountingHoweverWindowsAreCut) {
  compare_on_random_runs({{1, 1}, 100, 20}, 8);
  compare_on_random_runs({{1, 1024}, 100, 20}, 8);
  compare_on_random_runs({{2, 5}, 200, 20}, 8);
  compare_on_random_runs({{3, 1024}, 300, 8}, 8);
  compare_on_random_runs({{9, 40}, 500, 30}, 8);
}

TEST(PeakCounter, EqualsCountingWithTheWindowsOfEveryRun) {
  compare_on_random_runs({{}, 100, 3}, 8);
  compare_on_random_runs({{}, 3000, 40}, 3);
  compare_on_random_runs({{}, 5000, 300}, 2);
}

TEST(PeakCounter, NothingHappenedInAnEmptyRun) {
  peak_counter none;
  EXPECT_TRUE(none.snapshot().used.empty());
  EXPECT_EQ(none.snapshot().peaks.count(), 0u);
}

// ---- profile -----------------------------------------------------------------------------------

profile merged(profile a, const profile& b) {
  merge(a, b);
  return a;
}

TEST(Merge, AnyOrderAndAnyGroupingGiveTheSameBytes) {
  for (std::uint64_t seed = 0; seed < support::times(20u); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<profile> parts(5);
    for (profile& part : parts) part = test::random_profile(random);
    parts[random() % parts.size()] = merged(parts[0], parts[1]);  // one is of several runs
    profile all;
    for (const profile& part : parts) merge(all, part);
    const std::string bytes = encode(all);

    std::array<std::size_t, 5> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      profile other;
      for (const std::size_t n : order) merge(other, parts[n]);
      ASSERT_EQ(other, all);
    } while (std::next_permutation(order.begin(), order.end()));

    // Any two neighbours become one, until one is left: every tree over some order.
    for (int tree = 0; tree < 20; ++tree) {
      std::vector<profile> left = parts;
      std::shuffle(left.begin(), left.end(), random);
      while (left.size() > 1) {
        const std::size_t n = random() % (left.size() - 1);
        merge(left[n], left[n + 1]);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(n) + 1);
      }
      ASSERT_EQ(encode(left.front()), bytes);
    }
  }
}

TEST(Merge, PeaksAreTheMostOfAnyRunAndNotOfTheirSum) {
  for (std::uint64_t seed = 0; seed < support::times(60u); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::array<profile, 3> parts = {
        test::random_profile(random), test::random_profile(random), test::random_profile(random)};
    const profile all = merged(merged(parts[0], parts[1]), parts[2]);
    for (std::uint32_t first = 0; first < pool_grid::count; first += 3) {
      for (std::uint32_t last = first; last < pool_grid::count; last += 2) {
        std::uint32_t most = 0;
        for (const profile& part : parts) most = std::max(most, part.peak_between(first, last));
        ASSERT_EQ(all.peak_between(first, last), most) << first << " to " << last;
      }
    }
    std::uint64_t births = 0, deaths = 0, peak_bytes = 0;
    for (const profile& part : parts) {
      births += part.births();
      deaths += part.deaths();
      peak_bytes = std::max(peak_bytes, part.peak_bytes);
    }
    EXPECT_EQ(std::tuple(all.runs, all.births(), all.deaths(), all.peak_bytes),
              std::tuple(3u, births, deaths, peak_bytes));
  }
}

TEST(Merge, OfAlignedNeedsTheSmallestRequestStays) {
  profile a;
  a.aligned = {{.alignment = 64, .step = 7, .smallest = 40}};
  profile b;
  b.aligned = {{.alignment = 32, .step = 7, .smallest = 50},
               {.alignment = 64, .step = 7, .smallest = 33},
               {.alignment = 64, .step = 15, .smallest = 100}};
  EXPECT_EQ(merged(a, b).aligned, b.aligned);
  EXPECT_EQ(merged(b, a).aligned, b.aligned);
}

// Else a sum that wrapped around would depend on nothing that was merged.
TEST(Merge, SumsSaturate) {
  profile many;
  many.runs = UINT64_MAX - 1;
  many.heap = {{.step = 1, .births = UINT64_MAX, .at_peak = {UINT64_MAX, 5}, .mean_1024 = {}}};
  const profile more = merged(many, many);
  EXPECT_EQ(more.runs, UINT64_MAX);
  EXPECT_EQ(more.heap[0].births, UINT64_MAX);
  EXPECT_EQ(more.heap[0].at_peak, (alive{UINT64_MAX, 10}));
  EXPECT_EQ(merged(merged(many, more), many), merged(many, merged(more, many)));
}

TEST(Profile, PeakBetweenTakesAnySteps) {
  const profile some = test::profiled({{.time = 1, .size = 8},
                                       {.time = 2, .size = 24},
                                       {.time = 3, .size = 24},
                                       {.time = 4, .size = pool_grid::largest_size}});
  EXPECT_EQ(some.peak_between(0, 0), 1u);
  EXPECT_EQ(some.peak_between(1, 1), 0u);
  EXPECT_EQ(some.peak_between(0, 1), 1u);
  EXPECT_EQ(some.peak_between(1, 2), 2u);
  EXPECT_EQ(some.peak_between(2, 1), 0u);
  EXPECT_EQ(some.peak_between(0, pool_grid::count - 1), 4u);
  EXPECT_EQ(some.peak_between(3, pool_grid::count - 1), 1u);
  EXPECT_EQ(some.peak_blocks(), 4u);
  EXPECT_EQ(profile{}.peak_between(0, pool_grid::count - 1), 0u);
  EXPECT_EQ(profile{}.peak_blocks(), 0u);
}

// ---- size_grid ---------------------------------------------------------------------------------

TEST(PoolGrid, PlacesAndSizesAreEachOthersInverse) {
  std::uint64_t before = 0;
  for (std::uint32_t step = 0; step < pool_grid::count; ++step) {
    const std::uint64_t size = pool_grid::size_of(step);
    ASSERT_GT(size, before);
    // All that is above the size before comes here; the ends stand for what is between them, and so do some within.
    for (const std::uint64_t bytes : {before + 1, before + (size - before + 1) / 2, size}) {
      ASSERT_EQ(pool_grid::step_of(bytes), step) << bytes;
      ASSERT_EQ(pool_grid::round_up(bytes), size) << bytes;
    }
    before = size;
  }
  EXPECT_EQ(before, pool_grid::largest_size);
  EXPECT_EQ(pool_grid::step_of(0), 0u);
  EXPECT_EQ(pool_grid::round_up(0), 8u);
}

TEST(PoolGrid, RoundingAddsAtMostASixteenthUpTo64KiBAndAnEighthUpTo64MiB) {
  for (std::uint32_t step = 1; pool_grid::size_of(step) <= 64 << 20; ++step) {
    const std::uint64_t added = pool_grid::size_of(step) - pool_grid::size_of(step - 1) - 1;
    const std::uint64_t least = pool_grid::size_of(step - 1) + 1;
    if (least > 512 && least <= 64 << 10) {
      EXPECT_LE(16 * added, least) << least;
    } else if (least > 512) {
      EXPECT_LE(8 * added, least) << least;
    } else {
      EXPECT_LT(added, 8u);
    }
  }
}

// The law at the head of size_grid.hpp: of each gap and each alignment, the first multiple in the gap says it for all.
TEST(PoolGrid, AMultipleOfAnAlignmentStaysOne) {
  for (std::uint64_t alignment = 1; alignment <= pool_grid::largest_alignment; alignment *= 2) {
    std::uint64_t before = 0;
    for (std::uint32_t step = 0; step < pool_grid::count; ++step) {
      const std::uint64_t size = pool_grid::size_of(step);
      const bool has_a_multiple = align_up(before + 1, alignment) <= size;
      ASSERT_TRUE(!has_a_multiple || size % alignment == 0)
          << alignment << " in " << before + 1 << ".." << size;
      before = size;
    }
  }
}

TEST(PoolGrid, ANeedIsOfTheSizeRoundedUpToItsAlignment) {
  EXPECT_EQ(pool_grid::need_of(0, 0), 8u);
  EXPECT_EQ(pool_grid::need_of(0, 64), 64u);
  EXPECT_EQ(pool_grid::need_of(65, 64), 128u);
  EXPECT_EQ(pool_grid::need_of(520, 0), 544u);
  EXPECT_EQ(pool_grid::need_of(513, 1024), 1024u);
  EXPECT_EQ(pool_grid::need_of(1, 1 << 20), 1u << 20);
  EXPECT_TRUE(pool_grid::serves(pool_grid::largest_size, pool_grid::largest_alignment));
  EXPECT_FALSE(pool_grid::serves(pool_grid::largest_size + 1, 0));
  EXPECT_FALSE(pool_grid::serves(1, 2 * pool_grid::largest_alignment));
  EXPECT_EQ(pool_grid::need_of(pool_grid::largest_size, pool_grid::largest_alignment),
            pool_grid::largest_size);
}

// Which sizes a heap's class may have is the heap's to say.
TEST(HeapGrid, HasEachBlockSizeThatAClassCanHaveAndNoOtherUpToTheLargest) {
  std::uint32_t step = 0;
  for (std::uint32_t size = 1; size < small_size_max; ++size) {
    const std::array<std::uint32_t, 2> sizes = {size, std::uint32_t{small_size_max}};
    std::size_t at = 0;
    const bool is_possible = ashlar::detail::what_is_wrong_with(sizes, at) == nullptr;
    ASSERT_EQ(heap_grid::step_of(size), step) << size;
    ASSERT_EQ(heap_grid::size_of(step) == size, is_possible) << size;
    step += is_possible ? 1 : 0;
  }
  EXPECT_EQ(heap_grid::size_of(step), small_size_max);
  EXPECT_EQ(heap_grid::step_of(0), 0u);
}

TEST(HeapGrid, AboveTheLargestClassThePoolGridGoesOn) {
  std::uint32_t pool = pool_grid::step_of(small_size_max);
  for (std::uint32_t step = heap_grid::step_of(small_size_max); step < heap_grid::count; ++step) {
    const std::uint64_t size = pool_grid::size_of(pool++);
    ASSERT_EQ(heap_grid::size_of(step), size);
    ASSERT_EQ(heap_grid::step_of(size), step);
    const bool is_last = step + 1 == heap_grid::count;
    ASSERT_TRUE(is_last || heap_grid::step_of(size + 1) == step + 1);
  }
  EXPECT_EQ(pool, pool_grid::count);
}

}  // namespace

}  // namespace ashlar::profiling
