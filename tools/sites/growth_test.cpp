// What grows in a recording, and from one to the next.
#include "tools/sites/growth.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/trace/summary.hpp"
#include "tools/trace/trace_files_test.hpp"

namespace ashlar::sites {
namespace {

using trace::event;

// ---- growth ------------------------------------------------------------------------------------

/// A run of a thousand steps, ten milliseconds each. A pool of its own is each call site here, so that
/// it has a name without a program.
class run {
 public:
  static constexpr std::uint64_t steps = 1000;
  std::uint64_t step_microseconds = 10'000;

  /// Effects: at each step the site holds as many blocks of 100 bytes as `blocks` says.
  void add(const std::string& site, const std::function<std::uint64_t(std::uint64_t)>& blocks) {
    sites_[site] = blocks;
  }
  growing_sites growing() const {
    std::string bytes;
    trace::trace_writer out([&](std::string_view more) { bytes += more; }, trace::test::header());
    std::vector<trace::stack_definition> stacks;
    std::vector<trace::module_definition> modules;
    std::uint32_t number = 0;
    for (const auto& [name, blocks] : sites_) {
      const std::uint64_t address = 0x1000 * ++number;
      stacks.push_back({number, {address}});
      modules.push_back({address - 1, address + 1, address, name});
    }
    out.add(stacks);
    out.add(modules);
    std::vector<std::vector<std::uint64_t>> held(number);
    std::uint64_t next = 16;
    for (std::uint64_t step = 0; step < steps; ++step) {
      number = 0;
      for (const auto& [name, blocks] : sites_) {
        auto& mine = held[number++];
        for (const std::uint64_t wanted = blocks(step); mine.size() != wanted;) {
          event e = trace::test::birth(1, step_microseconds * step, next, 100);
          e.stack = number;
          if (mine.size() < wanted) {
            mine.push_back(next);
            next += 16;
          } else {
            e = trace::test::death(1, step_microseconds * step, mine.back());
            mine.pop_back();
          }
          out.add(e);
        }
      }
    }
    out.close();
    trace::trace_reader reader = trace::test::read(std::move(bytes));
    const trace::trace_summary summary = trace::summarise(reader, 2);
    trace::call_names names(reader);
    return find_growth(reader, summary.held, names);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const growing_site& site : growing().sites) all.push_back(site.calls.front().name);
    return all;
  }

 private:
  std::map<std::string, std::function<std::uint64_t(std::uint64_t)>> sites_;
};

using names = std::vector<std::string>;

// What a leak checker does not see: at the end all is freed.
TEST(Growth, ACacheThatIsFreedBeforeTheEndIsNamed) {
  for (const std::uint64_t end : {850u, 890u, 900u, 999u}) {
    run all;
    all.add("cache", [end](std::uint64_t step) { return step < end ? 3 * step : 0; });
    all.add("frees", [](std::uint64_t step) { return step < run::steps - 1 ? 1 : 0; });
    EXPECT_EQ(all.names(), names{"cache"}) << end;
  }
}

TEST(Growth, ACacheThatAlsoDropsSomeIsNamed) {
  std::mt19937 random(3);
  run all;
  all.add("cache", [&](std::uint64_t step) { return step + random() % 30; });
  EXPECT_EQ(all.names(), names{"cache"});
}

TEST(Growth, ALateBeginIsNamed) {
  run all;
  all.add("from a third on", [](std::uint64_t step) { return step < 333 ? 0 : step; });
  EXPECT_EQ(all.names(), names{"from a third on"});
}

TEST(Growth, ASawToothIsNotNamedHoweverLongItsTeethAre) {
  for (const std::uint64_t tooth : {5u, 10u, 16u, 50u, 100u, 300u, 333u, 450u, 500u}) {
    run all;
    all.add("saw", [tooth](std::uint64_t step) { return step % tooth; });
    EXPECT_EQ(all.names(), names{}) << tooth;
  }
}

TEST(Growth, ASteadyStateIsNotNamed) {
  std::mt19937 random(4);
  run all;
  all.add("constant", [](std::uint64_t) { return 100; });
  all.add("noise", [&](std::uint64_t) { return 1000 + random() % 500; });
  all.add("waves", [](std::uint64_t step) {
    return static_cast<std::uint64_t>(500 + 400 * std::sin(static_cast<double>(step) / 90));
  });
  EXPECT_EQ(all.names(), names{});
}

TEST(Growth, AStartUpIsNotNamedHoweverLongItTakes) {
  for (const std::uint64_t start : {1u, 20u, 100u, 300u, 500u, 600u}) {
    run all;
    all.add("tables", [start](std::uint64_t step) { return std::min(step, start); });
    all.add("work", [](std::uint64_t step) { return step % 2; });
    EXPECT_EQ(all.names(), names{}) << start;
  }
}

// A program that allocates for its start-up alone.
TEST(Growth, AStartUpIsNotNamedWhereNothingElseAllocates) {
  for (const std::uint64_t start : {1u, 20u, 100u, 300u, 500u}) {
    run all;
    all.add("tables", [start](std::uint64_t step) { return std::min(step, start); });
    all.add("end", [](std::uint64_t step) { return step == run::steps - 1 ? 1 : 0; });
    EXPECT_EQ(all.names(), names{}) << start;
  }
}

TEST(Growth, AShrinkingSiteAndASingleHillAreNotNamed) {
  run all;
  all.add("shrinks", [](std::uint64_t step) { return 1000 - step; });
  all.add("hill", [](std::uint64_t step) { return step < 500 ? step : 1000 - step; });
  EXPECT_EQ(all.names(), names{});
}

TEST(Growth, TheSteepestComesFirst) {
  run all;
  all.add("slow", [](std::uint64_t step) { return step / 10; });
  all.add("fast", [](std::uint64_t step) { return step * 2; });
  all.add("middle", [](std::uint64_t step) { return step; });
  EXPECT_EQ(all.names(), (names{"fast", "middle", "slow"}));
}

// The values of a walk depend on each other, so the test alone would be sure of a trend far too
// often. What else is asked of a site keeps it out.
TEST(Growth, AWalkIsRarelyNamed) {
  // How many of 1,000 walks are, where each step keeps so much of what the walk is off its mean.
  const auto named_of = [](double kept) {
    std::mt19937 random(5);
    std::normal_distribution<double> step(0, 100);
    int named = 0;
    for (int i = 0; i < 1000; ++i) {
      std::vector<std::uint64_t> walk(63);
      double away = 0;
      for (auto& bytes : walk) {
        away = kept * away + step(random);
        bytes = static_cast<std::uint64_t>(std::max(0.0, 100'000 + away));
      }
      named += growth_of(walk) ? 1 : 0;
    }
    return named;
  };
  EXPECT_EQ(named_of(0.9), 0);
  EXPECT_LE(named_of(0.98), 5);
  EXPECT_LE(named_of(1), 40) << "a walk that never returns does grow, by chance";
}

TEST(Growth, ARunOfLessThanASecondOnlyBuildsUp) {
  for (const std::uint64_t step_microseconds : {100u, 990u, 1100u}) {
    run all;
    all.step_microseconds = step_microseconds;
    all.add("tables", [](std::uint64_t step) { return step; });
    EXPECT_EQ(all.names().size(), step_microseconds > 1000 ? 1u : 0u) << step_microseconds;
  }
}

TEST(Growth, NothingIsNamedOfATraceWithoutEvents) {
  EXPECT_TRUE(run().growing().sites.empty());
  EXPECT_FALSE(growth_of({}));
}

// ---- trend -------------------------------------------------------------------------------------

using values = std::vector<std::uint64_t>;

TEST(Trend, ARiseByOneEachTime) {
  values rising(10);
  std::iota(rising.begin(), rising.end(), 100u);
  const trend found = trend_of(rising);
  EXPECT_DOUBLE_EQ(found.slope, 1);
  EXPECT_DOUBLE_EQ(found.tau, 1);
  // S = 45, V = 10 * 9 * 25 / 18 = 125, Z = 44 / sqrt(125) = 3.935; Phi(Z) from a table.
  EXPECT_NEAR(found.confidence, 0.999958, 1e-6);
}

TEST(Trend, EqualValuesLowerTheVariance) {
  // S = 8, V = (5 * 4 * 15 - 2 * (2 * 1 * 9)) / 18 = 14.667, Z = 7 / 3.830 = 1.828.
  const trend found = trend_of(values{1, 1, 2, 2, 3});
  EXPECT_DOUBLE_EQ(found.tau, 0.8);
  EXPECT_NEAR(found.confidence, 0.96623, 1e-4);
  // The slopes: 0 0 1/3 1/2 1/2 1/2 1/2 2/3 1 1.
  EXPECT_DOUBLE_EQ(found.slope, 0.5);
}

TEST(Trend, ASingleOutlierDoesNotMoveTheSlope) {
  values rising(30);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = 7 * i;
  rising[12] = 1'000'000'000;
  EXPECT_NEAR(trend_of(rising).slope, 7, 0.01);
}

TEST(Trend, AFallAndAConstantAreNoRise) {
  const trend fall = trend_of(values{9, 7, 5, 3});
  EXPECT_DOUBLE_EQ(fall.slope, -2);
  EXPECT_DOUBLE_EQ(fall.tau, -1);
  EXPECT_DOUBLE_EQ(fall.confidence, 0);
  const trend constant = trend_of(values(64, 4711));
  EXPECT_DOUBLE_EQ(constant.slope, 0);
  EXPECT_DOUBLE_EQ(constant.confidence, 0);
  for (const values& few : {values{}, values{5}}) EXPECT_DOUBLE_EQ(trend_of(few).slope, 0);
}

TEST(Trend, TheSlopeIsTheMedianOfAllPairs) {
  std::mt19937 random(1);
  for (std::size_t n = 2; n < 20; ++n) {
    values some(n);
    for (auto& value : some) value = random() % 100;
    std::vector<double> slopes;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j)
        slopes.push_back((static_cast<double>(some[j]) - static_cast<double>(some[i])) /
                         static_cast<double>(j - i));
    std::ranges::sort(slopes);
    const double median = (slopes[(slopes.size() - 1) / 2] + slopes[slopes.size() / 2]) / 2;
    EXPECT_DOUBLE_EQ(trend_of(some).slope, median);
  }
}

// That is what a confidence means: of independent values without a trend, 1 % get one above 99 %.
TEST(Trend, NoTrendIsRarelySure) {
  std::mt19937 random(2);
  int sure = 0;
  constexpr int tries = 10'000;
  for (int i = 0; i < tries; ++i) {
    values some(21);
    for (auto& value : some) value = random() % 1000;
    sure += test_of(some).confidence > 0.99 ? 1 : 0;
  }
  EXPECT_GT(sure, tries / 200);
  EXPECT_LT(sure, tries / 67);
}

}  // namespace

}  // namespace ashlar::sites
