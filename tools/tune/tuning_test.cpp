#include "tools/tune/tuning.hpp"

#include <random>
#include <string>
#include <tests/support/extent.hpp>

#include <gtest/gtest.h>

#include "tools/tune/test_workloads.hpp"

namespace ashlar::tune {
namespace {

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

TEST(Tuning, WhatCannotBeIsNamed) {
  std::mt19937 random(4);
  const workload load = random_workload(random, 10, 50, 1);
  EXPECT_NE(why_impossible(load, {.classes = 0}).find("--classes 0"), std::string::npos);
  EXPECT_NE(why_impossible(load, {.classes = 257}).find("256"), std::string::npos);
  EXPECT_NE(why_impossible(workload{}, {}), "");
  EXPECT_EQ(why_impossible(load, {.classes = 256}), "");
}

TEST(Tuning, AMarginIsOnEachCapacity) {
  std::mt19937 random(5);
  const workload load = random_workload(random, 40, 900, 1);
  for (const size_class& c : tune_static(load, {.classes = 4, .margin_percent = 7}).classes)
    EXPECT_EQ(c.capacity, (c.peak * 107 + 99) / 100);
}

}  // namespace
}  // namespace ashlar::tune
