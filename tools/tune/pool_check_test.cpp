#include "tools/tune/pool_check.hpp"

#include <nlohmann/json.hpp>
#include <tests/support/test_headers.hpp>

#include "tools/profile/runs_test.hpp"
#include "tools/tune/pool_files.hpp"
#include "tools/tune/workloads_test.hpp"

namespace ashlar::tune {
namespace {

certified_tuning tuned(const workload& load) {
  certified_tuning result;
  result.read_as.least_alignment = 8;
  tuning_request request;
  request.classes = 4;
  result.made = tune_static(load, request);
  return result;
}

TEST(PoolCheck, ReadsWhatTheTunerWrites) {
  std::mt19937 random(1);
  const workload load = random_workload(random, 30, 800, 2);
  const certified_tuning result = tuned(load);
  const pool_configuration pools = read_configuration(certificate(result));
  EXPECT_EQ(pools.classes, result.made.classes);
  EXPECT_EQ(pools.read_as.least_alignment, 8u);
  EXPECT_TRUE(use_of(pools, load, 100).serves);
  EXPECT_FALSE(use_of(pools, load, 50).serves);
}

TEST(PoolCheck, OneBlockMoreIsTooMuch) {
  std::mt19937 random(2);
  workload load = random_workload(random, 30, 800, 1);
  pool_configuration pools = read_configuration(certificate(tuned(load)));
  const pool_use before = use_of(pools, load, 100);
  ASSERT_TRUE(before.serves);
  for (std::size_t c = 0; c < pools.classes.size(); ++c) {
    EXPECT_EQ(before.classes[c].peak, pools.classes[c].peak);
    pool_configuration less = pools;
    --less.classes[c].capacity;
    const pool_use use = use_of(less, load, 100);
    EXPECT_FALSE(use.serves);
    EXPECT_TRUE(use.classes[c].passes(100));
  }
}

// To a profile 528 and 544 bytes are one size; a trace has them apart.
TEST(PoolCheck, WhatATraceHasIsNotPerhapsUnserved) {
  pool_configuration pools;
  pools.classes = {{528, 16, 10, 10, 0}};
  workload load;
  load.needs = {{544, 16}};
  load.traces = {{0}};
  const pool_use use = use_of(pools, load, 100);
  ASSERT_TRUE(use.unserved);
  EXPECT_FALSE(use.unserved->perhaps);
}

TEST(PoolCheck, AClassThatIsNotAsAlignedServesNot) {
  pool_configuration pools;
  pools.classes = {{512, 16, 10, 10, 0}, {1024, 64, 10, 10, 0}};
  workload load;
  load.needs = {{64, 64}, {128, 128}};
  load.traces = {{0}};
  const pool_use use = use_of(pools, load, 100);
  EXPECT_EQ(use.classes[0].peak, 0u);
  EXPECT_EQ(use.classes[1].peak, 1u);
  ASSERT_TRUE(use.unserved);
  EXPECT_EQ(use.unserved->alignment, 128u);
}

TEST(PoolCheck, WhatIsNoConfigurationIsRefused) {
  std::mt19937 random(4);
  const workload load = random_workload(random, 30, 300, 1);
  const auto good = nlohmann::json::parse(certificate(tuned(load)));
  for (const char* text : {"", "{", "[]", "{}", "0"})
    EXPECT_THROW((void)read_configuration(text), no_configuration) << text;
  for (const std::string name :
       {"certificate", "mode", "alignment", "largest", "spill", "classes", "resolution"}) {
    auto without = good;
    without.erase(name);
    EXPECT_THROW((void)read_configuration(without.dump()), no_configuration) << name;
    for (const nlohmann::json& wrong :
         {nlohmann::json(-1), nlohmann::json(1e40), nlohmann::json()}) {
      auto changed = good;
      changed[name] = wrong;
      EXPECT_THROW((void)read_configuration(changed.dump()), no_configuration) << name << wrong;
    }
  }
  auto empty = good;
  empty["classes"][0]["capacity"] = 0;
  EXPECT_THROW((void)read_configuration(empty.dump()), no_configuration);
  const auto why = [](const nlohmann::json& all) -> std::string {
    try {
      (void)read_configuration(all.dump());
    } catch (const no_configuration& error) {
      return error.what();
    }
    return "taken";
  };
  const std::vector<std::pair<std::string, std::vector<std::uint64_t>>> impossible_values{
      {"block_size", {0, (std::uint64_t{1} << 36) + 1, UINT64_MAX}},
      {"alignment", {0, 3, 24, std::uint64_t{1} << 21, UINT64_MAX}},
      {"capacity", {std::uint64_t{1} << 52, UINT64_MAX}}};
  for (const auto& [name, values] : impossible_values) {
    for (const std::uint64_t value : values) {
      auto changed = good;
      changed["classes"][0][name] = value;
      EXPECT_NE(why(changed).find(name), std::string::npos) << name << value << why(changed);
    }
  }
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"alignment", 0},
           {"alignment", 24},
           {"alignment", std::uint64_t{1} << 21},
           {"largest", (std::uint64_t{1} << 36) + 1}}) {
    auto changed = good;
    changed[name] = value;
    EXPECT_NE(why(changed).find("'largest' cannot be"), std::string::npos) << name << value;
  }
  auto twice = good;
  twice["classes"][1] = twice["classes"][0];
  EXPECT_NE(why(twice).find("sorted"), std::string::npos) << why(twice);
  auto other = good;
  other["resolution"] = "coarse";
  EXPECT_THROW((void)read_configuration(other.dump()), no_configuration);
}

using profiling::test::random_run;
using profiling::test::run;

workload read_as_trace(const run& made, const input_request& as) {
  workload_builder builder(as.least_alignment, as.sizes);
  builder.begin_trace();
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::uint32_t>> live;
  std::uint32_t next = 0;
  for (const auto& c : made) {
    const std::uint64_t compared =
        as.sizes == resolution::exact
            ? c.size
            : needed_bytes(c.size, c.alignment, as.least_alignment, as.sizes);
    if (compared > as.largest) continue;
    std::vector<std::uint32_t>& slots = live[{c.size, c.alignment}];
    if (c.is_death) {
      builder.death(slots.back());
      slots.pop_back();
    } else {
      builder.birth(next, c.size, c.alignment);
      slots.push_back(next++);
    }
  }
  return builder.finish();
}

workload read_as_profile(const run& made, const input_request& as) {
  workload_builder builder(as.least_alignment, as.sizes);
  builder.add(profiling::test::profiled(made), {as.largest, as.largest_is_of_exact_sizes});
  return builder.finish();
}

pool_configuration pools_for(const run& made, const input_request& as, std::size_t classes) {
  certified_tuning result;
  result.read_as = as;
  result.made = tune_static(read_as_trace(made, as), {.classes = classes});
  return read_configuration(certificate(result));
}

/// Some leave out larger requests. Requires: the run is not empty.
input_request random_request(std::mt19937_64& random, const run& made, resolution sizes) {
  input_request as;
  as.least_alignment = std::uint64_t{1} << random() % 8;
  as.sizes = sizes;
  if (random() % 2 == 0) {
    const profiling::test::change& kept = made[random() % made.size()];  // so that one is
    as.largest = sizes == resolution::exact
                     ? kept.size + random() % 2 * 100
                     : needed_bytes(kept.size, kept.alignment, as.least_alignment, sizes);
  }
  return as;
}

TEST(PoolCheck, AProfileUsesWhatItsTraceUsesOfPoolsOfItsResolution) {
  for (std::uint64_t seed = 0; seed < support::times(100u); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const run made = random_run(random, 300, 20);
    const pool_configuration pools =
        pools_for(made, random_request(random, made, resolution::profile), 1 + random() % 6);
    const pool_use traced =
        use_of(pools, read_as_trace(made, request_for(pools, input_kind::trace)), 100);
    const pool_use profiled =
        use_of(pools, read_as_profile(made, request_for(pools, input_kind::profile)), 100);
    EXPECT_TRUE(traced.serves);
    EXPECT_TRUE(profiled.serves);
    for (std::size_t c = 0; c < pools.classes.size(); ++c) {
      EXPECT_EQ(profiled.classes[c].peak, pools.classes[c].peak) << c;
      EXPECT_EQ(traced.classes[c].peak, pools.classes[c].peak) << c;
      EXPECT_FALSE(profiled.classes[c].at_most) << c;
    }
  }
}

TEST(PoolCheck, AProfileHidesNoPeakInPoolsOfOtherSizes) {
  std::size_t exact = 0, bounds = 0, served = 0, surely_unserved = 0, perhaps_unserved = 0;
  for (std::uint64_t seed = 0; seed < support::times(300u); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const run made = random_run(random, 300, 20);
    const pool_configuration pools =
        pools_for(made, random_request(random, made, resolution::exact), 1 + random() % 6);
    const run other = random() % 4 == 0 ? made : random_run(random, 300, 20);
    const pool_use traced =
        use_of(pools, read_as_trace(other, request_for(pools, input_kind::trace)), 100);
    const pool_use profiled =
        use_of(pools, read_as_profile(other, request_for(pools, input_kind::profile)), 100);
    for (std::size_t c = 0; c < pools.classes.size(); ++c) {
      const class_use& use = profiled.classes[c];
      ++(use.at_most ? bounds : exact);
      ASSERT_LE(traced.classes[c].peak, use.peak) << c;
      if (!use.at_most) {
        ASSERT_EQ(traced.classes[c].peak, use.peak) << c;
      }
    }
    if (traced.unserved) {
      ASSERT_TRUE(profiled.unserved);
    }
    if (profiled.unserved && !profiled.unserved->perhaps) {
      ASSERT_TRUE(traced.unserved);
      ++surely_unserved;
    }
    if (profiled.serves) {
      ASSERT_TRUE(traced.serves);
      ++served;
    }
    perhaps_unserved += profiled.unserved && profiled.unserved->perhaps;
  }
  EXPECT_GT(exact, support::times(50u));
  EXPECT_GT(bounds, support::times(50u));
  EXPECT_GT(served, support::times(20u));
  EXPECT_GT(surely_unserved, support::times(20u));
  EXPECT_GT(perhaps_unserved, support::times(5u));
}

/// Pools of exact sizes up to 1,000 bytes.
pool_configuration small_pools() {
  pool_configuration pools;
  pools.read_as.largest = 1000;
  pools.classes = {{512, 16, 10, 10, 0}, {1008, 16, 10, 10, 0}};
  return pools;
}
/// What a profile of these requests, all of them alive, would use.
pool_use use_of_profile(const pool_configuration& pools,
                        const std::vector<std::pair<std::uint64_t, std::uint64_t>>& requests) {
  run made;
  for (const auto& [size, alignment] : requests)
    made.push_back({.time = 1, .size = size, .alignment = alignment});
  return use_of(pools, read_as_profile(made, request_for(pools, input_kind::profile)), 100);
}

// It needs more than what the pools leave out, and yet it is not among that.
TEST(PoolCheck, AnOverAlignedRequestOfAFewBytesIsNotLeftOut) {
  const pool_use use = use_of_profile(small_pools(), {{100, 0}, {100, 4096}});
  EXPECT_FALSE(use.serves);
  ASSERT_TRUE(use.unserved);
  EXPECT_EQ(use.unserved->size, 4096u);
  EXPECT_EQ(use.unserved->alignment, 4096u);
  EXPECT_FALSE(use.unserved->perhaps);
}

TEST(PoolCheck, AnOverAlignedRequestCountsWithAllThatNeedAsMuch) {
  pool_configuration pools = small_pools();
  pools.classes.push_back({4096, 4096, 1, 1, 0});
  // Of the two that need 4,096 bytes the pools leave out one; of those in between, both.
  const pool_use use =
      use_of_profile(pools, {{100, 4096}, {4000, 0}, {2000, 0}, {3000, 64}, {100, 0}});
  EXPECT_FALSE(use.unserved);
  EXPECT_EQ(use.classes[2].peak, 2u);
  EXPECT_TRUE(use.classes[2].at_most);
  EXPECT_EQ(use.classes[0].peak, 1u);
  EXPECT_FALSE(use.classes[0].at_most);
}

TEST(PoolCheck, WhatIsLeftOutByAnExactSizeCountsWithItsWholeStep) {
  pool_configuration pools = small_pools();  // the step is from 993 to 1024
  EXPECT_TRUE(use_of_profile(pools, {{992, 0}, {1025, 0}, {1025, 64}}).serves);
  const pool_use use = use_of_profile(pools, {{1001, 0}});
  ASSERT_TRUE(use.unserved);
  EXPECT_TRUE(use.unserved->perhaps);  // it is left out, but of 1000 bytes it were not
  pools.classes[1].block_size = 1024;
  EXPECT_FALSE(use_of_profile(pools, {{1001, 0}}).unserved);
  EXPECT_TRUE(use_of_profile(pools, {{1001, 0}}).classes[1].at_most);
}

TEST(PoolCheck, TheUseOfSeveralInputsIsTheirMost) {
  pool_use all;
  all.classes = {{16, 10, 3, false}, {32, 10, 4, true}};
  all.serves = true;
  pool_use other = all;
  other.classes[0].peak = 2;
  other.classes[1] = {32, 10, 11, false};
  other.serves = false;
  other.unserved = unserved_need{32, 16, true};
  join(all, other);
  other.unserved = unserved_need{64, 16};
  join(all, other);
  EXPECT_EQ(all.classes[0].peak, 3u);
  EXPECT_EQ(all.classes[1].peak, 11u);
  EXPECT_FALSE(all.classes[1].at_most);
  EXPECT_FALSE(all.serves);
  ASSERT_TRUE(all.unserved);
  EXPECT_EQ(all.unserved->size, 64u);
  pool_use served;
  served.classes = {{16, 10, 3, false}, {32, 10, 4, true}};
  served.serves = true;
  join(all, served);
  EXPECT_FALSE(all.serves);
  served.unserved = unserved_need{128, 16};
  join(all, served);
  EXPECT_EQ(all.unserved->size, 64u);
}

}  // namespace
}  // namespace ashlar::tune
