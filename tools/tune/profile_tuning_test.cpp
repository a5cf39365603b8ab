// Pools chosen from profiles are those chosen from their traces at the profiles' resolution.
#include <tests/support/test_headers.hpp>

#include "tools/profile/profile_file.hpp"
#include "tools/profile/runs_test.hpp"
#include "tools/trace/trace_files_test.hpp"
#include "tools/tune/tuning.hpp"

namespace ashlar::tune {
namespace {

using profiling::pool_grid;
using profiling::test::change;
using profiling::test::random_run;
using profiling::test::run;

/// Numbers for blocks; blocks of one kind are as good as each other.
class block_numbers {
 public:
  std::uint32_t of(const change& c) {
    std::vector<std::uint32_t>& live = live_[{c.size, c.alignment}];
    if (!c.is_death) {
      live.push_back(next_);
      return next_++;
    }
    const std::uint32_t dying = live.back();
    live.pop_back();
    return dying;
  }

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::uint32_t>> live_;
  std::uint32_t next_ = 0;
};

void add_trace(workload_builder& into, const run& made, const input_request& as) {
  into.begin_trace();
  block_numbers numbers;
  for (const change& c : made) {
    if (!pool_grid::serves(c.size, c.alignment) ||
        needed_bytes(c.size, c.alignment, as.least_alignment, as.sizes) > as.largest)
      continue;
    if (c.is_death) {
      into.death(numbers.of(c));
    } else {
      into.birth(numbers.of(c), c.size, c.alignment);
    }
  }
}

/// As it comes back from its file.
profiling::profile profile_of(const run& made) {
  const auto source = trace::memory_source("p", profiling::encode(profiling::test::profiled(made)));
  return profiling::decode(*source);
}

input_request random_request(std::mt19937_64& random) {
  input_request as;
  as.least_alignment = std::uint64_t{1} << random() % 10;
  as.sizes = resolution::profile;
  if (random() % 4 == 0) as.largest = random() % 5000;
  return as;
}

struct recorded_run {
  run made;
  profiling::profile profile;
};

std::vector<recorded_run> random_runs(std::mt19937_64& random) {
  std::vector<recorded_run> runs(1 + random() % 3);
  for (recorded_run& each : runs) {
    each.made = random_run(random, random() % 300, 1 + random() % 30);
    each.profile = profile_of(each.made);
  }
  return runs;
}

enum class given { traces, profiles, both, one_merged_profile };

workload load_of(const std::vector<recorded_run>& runs, const input_request& as, given how) {
  workload_builder builder(as.least_alignment, as.sizes);
  profiling::profile merged;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (how == given::one_merged_profile) {
      profiling::merge(merged, runs[r].profile);
    } else if (how == given::profiles || (how == given::both && r % 2 == 0)) {
      builder.add(runs[r].profile, {as.largest});
    } else {
      add_trace(builder, runs[r].made, as);
    }
  }
  if (how == given::one_merged_profile) builder.add(merged, {as.largest});
  return builder.finish();
}

void expect_same_needs(const workload& a, const workload& b) {
  ASSERT_EQ(a.needs.size(), b.needs.size());
  for (std::size_t n = 0; n < a.needs.size(); ++n) {
    EXPECT_EQ(a.needs[n].size, b.needs[n].size) << n;
    EXPECT_EQ(a.needs[n].alignment, b.needs[n].alignment) << n;
    EXPECT_EQ(a.needs[n].closed_from, b.needs[n].closed_from) << n;
  }
}

/// What tune_static makes, or why it does not.
struct answer {
  tuning made;
  std::string why_not;
};
answer answer_for(const workload& load, const tuning_request& request) {
  answer found;
  try {
    found.made = tune_static(load, request);
  } catch (const impossible& error) {
    found.why_not = error.what();
  }
  return found;
}

TEST(ProfileTuning, GivesWhatTheTracesGive) {
  constexpr std::size_t sets = support::sanitized ? 150 : 1000;
  std::size_t answers = 0, over_aligned = 0;
  for (std::uint64_t seed = 0; seed < sets; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::vector<recorded_run> runs = random_runs(random);
    const input_request as = random_request(random);
    tuning_request request;
    if (random() % 2 == 0) request.classes = 1 + random() % 9;
    if (random() % 3 == 0) request.margin_percent = random() % 60;
    const workload traced = load_of(runs, as, given::traces);
    ASSERT_FALSE(traced.profiled);
    const answer expected = answer_for(traced, request);
    answers += expected.why_not.empty() ? 1 : 0;
    over_aligned += std::ranges::any_of(
        traced.needs, [](const block_need& n) { return n.closed_from != UINT64_MAX; });
    for (const given how : {given::profiles, given::both, given::one_merged_profile}) {
      const workload load = load_of(runs, as, how);
      ASSERT_TRUE(load.profiled);
      expect_same_needs(load, traced);
      const answer found = answer_for(load, request);
      ASSERT_EQ(found.why_not, expected.why_not);
      ASSERT_EQ(found.made.classes, expected.made.classes);
      ASSERT_EQ(found.made.bytes, expected.made.bytes);
      ASSERT_EQ(found.made.curve, expected.made.curve);
      ASSERT_EQ(found.made.asked_classes, expected.made.asked_classes);
      if (how != given::both) {
        ASSERT_TRUE(found.made.witness.empty()) << "all peaks were known";
      }
    }
  }
  EXPECT_GT(answers, sets * 8 / 10);
  EXPECT_GT(over_aligned, sets / 20) << "too few requests that another class could take";
}

TEST(ProfileTuning, AProfileHasThePeakOfEachIntervalOfNeeds) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::vector<recorded_run> runs = random_runs(random);
    const input_request as = random_request(random);
    const workload traced = load_of(runs, as, given::traces);
    const workload profiled = load_of(runs, as, given::profiles);
    const workload both = load_of(runs, as, given::both);
    if (traced.needs.empty()) continue;
    const interval_peaks by_traces(traced);
    const interval_peaks by_profiles(profiled);
    const interval_peaks by_both(both);
    for (std::size_t i = 0; i < traced.needs.size(); ++i) {
      for (std::size_t j = i; j < traced.needs.size(); ++j) {
        const std::uint32_t blocks = by_traces.of({i, j}).blocks;
        ASSERT_EQ(by_profiles.of({i, j}).blocks, blocks) << i << " to " << j;
        ASSERT_EQ(by_both.of({i, j}).blocks, blocks) << i << " to " << j;
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::tune
