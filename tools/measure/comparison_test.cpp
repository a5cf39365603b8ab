#include "tools/measure/comparison.hpp"

#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

#include "tools/files/error.hpp"
#include "tools/measure/comparison_test_samples.hpp"

namespace ashlar::measure {
namespace {

TEST(Comparison, QuotesMediansOfMeasuredRunsAndRatiosToTheFirst) {
  const comparison compared = two_allocators();
  const allocator_summary base = summarise(compared, compared.allocators[0]);
  EXPECT_EQ(base.runs, 3u);
  EXPECT_EQ(base.wall_seconds.median, 2);
  EXPECT_EQ(base.wall_seconds.max, 3);  // the warm-up run's 9 is not in it
}

TEST(Comparison, ARunThatFailedIsMarkedAndNotQuoted) {
  comparison compared = two_allocators();
  compared.allocators[1].samples.push_back(sample(0.001, 1, SIGSEGV));
  const allocator_summary summary = summarise(compared, compared.allocators[1]);
  EXPECT_FALSE(summary.quotable());
  EXPECT_FALSE(comparison_json(compared)["allocators"][1].contains("wall_seconds"));
  EXPECT_EQ(comparison_json(compared)["allocators"][1]["samples"].size(), 4u);
}

TEST(Comparison, AFailureInTheWarmUpCountsToo) {
  comparison compared = two_allocators();
  compared.allocators[1].samples[0].outcome.wait_status = 1 << 8;
  EXPECT_FALSE(summarise(compared, compared.allocators[1]).quotable());
}

TEST(Comparison, AFailedBaselineLeavesNoRatio) {
  comparison compared = two_allocators();
  compared.allocators[0].samples[1].outcome.wait_status = 1 << 8;
  EXPECT_TRUE(comparison_json(compared)["allocators"][1]["wall_seconds"]["ratio"].is_null());
}

TEST(Comparison, WhatJsonHoldsIsReadBackForTheSummary) {
  const stored_comparison stored = parse_comparison(comparison_json(two_allocators()).dump(), "x");
  ASSERT_EQ(stored.allocators.size(), 2u);
  EXPECT_EQ(stored.label, "work, \"quoted\"");
  EXPECT_EQ(stored.allocators[1].peak_rss_bytes.median, 1 << 21);
  EXPECT_THROW(parse_comparison("{}", "x"), files::command_error);
  EXPECT_THROW(parse_comparison("{", "x"), files::command_error);
  EXPECT_THROW(parse_comparison("[1]", "x"), files::command_error);
}

TEST(Comparison, NumbersThatAreNoCountsAreErrors) {
  nlohmann::json document = comparison_json(two_allocators());
  for (const nlohmann::json& wrong :
       {nlohmann::json(1e40), nlohmann::json(-1), nlohmann::json(1.5)}) {
    nlohmann::json damaged = document;
    damaged["schema"] = wrong;
    EXPECT_THROW(parse_comparison(damaged.dump(), "x"), files::command_error) << wrong;
    damaged = document;
    damaged["allocators"][0]["runs"] = wrong;
    EXPECT_THROW(parse_comparison(damaged.dump(), "x"), files::command_error) << wrong;
  }
}

TEST(Comparison, CsvHasALineForEverySampleAndQuotesText) {
  const std::string csv = comparison_csv(two_allocators());
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 7);
  EXPECT_NE(csv.find("\"work, \"\"quoted\"\"\",other,/lib/other.so,0,"), std::string::npos) << csv;
}

}  // namespace
}  // namespace ashlar::measure
