// What is chosen from profiles is what is chosen from their traces at the profiles' resolution, in both modes.
#include <tests/support/test_folder.hpp>

#include <fmt/format.h>

#include "tools/profile/profile_file.hpp"
#include "tools/profile/test_runs.hpp"
#include "tools/trace/trace_test_files.hpp"
#include "tools/tune/heap_tuning.hpp"
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
  workload_builder builder(as.least_alignment, as.kept, as.sizes);
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

TEST(ProfileTuning, OtherRulesGiveTheSame) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::vector<recorded_run> runs = random_runs(random);
    const input_request as = random_request(random);
    const workload traced = load_of(runs, as, given::traces);
    const workload profiled = load_of(runs, as, given::profiles);
    if (traced.needs.empty()) continue;
    const interval_peaks by_traces(traced);
    const interval_peaks by_profiles(profiled);
    EXPECT_EQ(greedy_rule(by_profiles, 4, 5), greedy_rule(by_traces, 4, 5));
    EXPECT_EQ(summed_peaks_rule(by_profiles, 4, 5), summed_peaks_rule(by_traces, 4, 5));
    EXPECT_EQ(power_of_two_rule(by_profiles, 5), power_of_two_rule(by_traces, 5));
  }
}

TEST(ProfileTuning, BorrowingNeedsAnOrder) {
  std::mt19937_64 random(1);
  const workload load =
      load_of(random_runs(random), {.sizes = resolution::profile}, given::profiles);
  ASSERT_FALSE(load.needs.empty());
  EXPECT_NE(answer_for(load, {.borrow = true}).why_not.find("--borrow"), std::string::npos);
}

// The law of workload.hpp: so an interval of needs is one of steps.
TEST(ProfileTuning, ASizeOfTheGridStaysOneWhenItIsRoundedUpToAnAlignment) {
  for (std::uint32_t step = 0; step < pool_grid::count; ++step) {
    for (std::uint64_t alignment = 1; alignment <= largest_alignment; alignment *= 2) {
      const std::uint64_t need = align_up(pool_grid::size_of(step), alignment);
      ASSERT_EQ(pool_grid::round_up(need), need) << "step " << step << " at " << alignment;
    }
  }
}

class ProfileFiles : public support::TestFolder {
 protected:
  // Returns: its path.
  [[nodiscard]] std::string write_trace(const std::string& name, const run& made) const {
    std::vector<trace::event> events;
    block_numbers numbers;
    for (const change& c : made) {
      trace::event e;
      e.kind = c.is_death ? trace::event_kind::from_free : trace::event_kind::by_malloc;
      e.thread = 1;
      e.time = c.time;
      e.address = (numbers.of(c) + std::uint64_t{1}) * 64;
      if (!c.is_death) {
        e.size = c.size;
        e.alignment = c.alignment;
      }
      events.push_back(e);
    }
    support::write_file(path(name + ".atrace"), trace::test::written(events));
    return path(name + ".atrace");
  }

  [[nodiscard]] std::string write_profile(const std::string& trace_path) const {
    trace::trace_reader reader(trace::open_file_source(trace_path));
    const std::string made = std::filesystem::path(trace_path).replace_extension(".aprof").string();
    support::write_file(made, profiling::encode(profiling::profile_of(reader)));
    return made;
  }
};

TEST_F(ProfileFiles, AreCountedAsTheirTracesAre) {
  for (std::uint64_t seed = 0; seed < support::times(40u); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::string traced = write_trace("a", random_run(random, 300, 20));
    const std::string profiled = write_profile(traced);
    EXPECT_EQ(kind_of(traced), input_kind::trace);
    EXPECT_EQ(kind_of(profiled), input_kind::profile);
    EXPECT_TRUE(has_profile({traced, profiled}));
    EXPECT_FALSE(has_profile({traced}));
    input_request as = random_request(random);
    as.largest = random() % 100'000;
    const input_workload both = read_inputs({traced, profiled}, as);
    ASSERT_EQ(both.inputs.size(), 2u);
    const input_identity& a = both.inputs[0];
    const input_identity& b = both.inputs[1];
    EXPECT_EQ(a.births, b.births);
    EXPECT_EQ(a.deaths, b.deaths);
    EXPECT_EQ(a.left_out, b.left_out);
    EXPECT_EQ(a.unknown_deaths, b.unknown_deaths);
    EXPECT_NE(a.sha256, b.sha256);
    ASSERT_EQ(both.load.traces.size(), 2u);
    EXPECT_EQ(both.load.traces[0].size(), a.births + a.deaths);
    EXPECT_TRUE(both.load.traces[1].empty());
    as.sizes = resolution::exact;
    EXPECT_THROW((void)read_inputs({profiled}, as), impossible);
  }
}

TEST_F(ProfileFiles, GiveTheSameHeapClassesAsTheirTraces) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::vector<std::string> traces = {write_trace("a", random_run(random, 400, 20)),
                                             write_trace("b", random_run(random, 400, 20))};
    const std::vector<std::string> profiles = {write_profile(traces[0]), write_profile(traces[1])};
    heap_class_request request;
    request.classes = least_heap_classes() + random() % 20;
    request.by = random() % 2 == 0 ? weigh::both : weigh::over_time;
    const heap_tuning expected = tune_heap(traces, request);
    for (const std::vector<std::string>& files :
         {profiles, std::vector<std::string>{traces[1], profiles[0]}}) {
      const heap_tuning found = tune_heap(files, request);
      ASSERT_EQ(found.made.sizes, expected.made.sizes);
      EXPECT_EQ(found.made.used, expected.made.used);
      EXPECT_EQ(found.made.slack.at_peak, expected.made.slack.at_peak);
      EXPECT_EQ(found.made.slack.over_time, expected.made.slack.over_time);
      EXPECT_EQ(found.made.requested.at_peak, expected.made.requested.at_peak);
    }
    EXPECT_GE(expected.made.slack.at_peak, 0.0);
  }
}

}  // namespace
}  // namespace ashlar::tune
