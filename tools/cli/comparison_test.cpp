#include "tools/cli/comparison.hpp"

#include <algorithm>
#include <csignal>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tools/cli/error.hpp"

namespace ashlar::cli {
namespace {

run_sample sample(double wall, std::uint64_t rss, int wait_status = 0, bool warmup = false) {
  run_sample made;
  made.warmup = warmup;
  made.round = 1;
  made.outcome.wall_seconds = wall;
  made.outcome.user_seconds = wall / 2;
  made.outcome.peak_rss_bytes = rss;
  made.outcome.wait_status = wait_status;
  return made;
}

comparison two_allocators() {
  comparison compared;
  compared.label = "work, \"quoted\"";
  compared.command = {"work"};
  compared.rounds = 3;
  compared.allocators = {
      {{"system", ""},
       {sample(9, 9, 0, true), sample(1, 1 << 20), sample(3, 1 << 20), sample(2, 1 << 20)},
       ""},
      {{"other", "/lib/other.so"},
       {sample(9, 9, 0, true), sample(1, 1 << 21), sample(1, 1 << 21)},
       ""}};
  return compared;
}

TEST(Comparison, QuotesMediansOfMeasuredRunsAndRatiosToTheFirst) {
  const comparison compared = two_allocators();
  const allocator_summary base = summarise(compared, compared.allocators[0]);
  EXPECT_EQ(base.runs, 3u);
  EXPECT_EQ(base.wall_seconds.median, 2);
  EXPECT_EQ(base.wall_seconds.max, 3);  // the warm-up run's 9 is not in it
  const std::string text = render_comparison(compared, glyphs::ascii);
  EXPECT_NE(text.find("1.000-1.000   0.50"), std::string::npos) << text;
  EXPECT_NE(text.find("2.0-2.0   2.00"), std::string::npos) << text;
}

TEST(Comparison, ARunThatFailedIsMarkedAndNotQuoted) {
  comparison compared = two_allocators();
  compared.allocators[1].samples.push_back(sample(0.001, 1, SIGSEGV));
  compared.allocators[1].error_output = "boom\n";
  const allocator_summary summary = summarise(compared, compared.allocators[1]);
  EXPECT_FALSE(summary.quotable());
  const std::string text = render_comparison(compared, glyphs::ascii);
  EXPECT_NE(text.find("failed: other: 1 of 4 runs"), std::string::npos) << text;
  EXPECT_NE(text.find("SIGSEGV"), std::string::npos);
  EXPECT_NE(text.find("    boom\n"), std::string::npos);
  EXPECT_NE(text.find("other         3    failed\n"), std::string::npos) << text;
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
  const std::string text = render_summary({stored, stored}, glyphs::ascii);
  EXPECT_NE(text.find("0.50"), std::string::npos) << text;
  EXPECT_THROW(parse_comparison("{}", "x"), command_error);
  EXPECT_THROW(parse_comparison("{", "x"), command_error);
  EXPECT_THROW(parse_comparison("[1]", "x"), command_error);
}

TEST(Comparison, NumbersThatAreNoCountsAreErrors) {
  nlohmann::json document = comparison_json(two_allocators());
  for (const nlohmann::json& wrong :
       {nlohmann::json(1e40), nlohmann::json(-1), nlohmann::json(1.5)}) {
    nlohmann::json damaged = document;
    damaged["schema"] = wrong;
    EXPECT_THROW(parse_comparison(damaged.dump(), "x"), command_error) << wrong;
    damaged = document;
    damaged["allocators"][0]["runs"] = wrong;
    EXPECT_THROW(parse_comparison(damaged.dump(), "x"), command_error) << wrong;
  }
}

TEST(Comparison, CsvHasALineForEverySampleAndQuotesText) {
  const std::string csv = comparison_csv(two_allocators());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 7);
  EXPECT_NE(csv.find("\"work, \"\"quoted\"\"\",other,/lib/other.so,0,"), std::string::npos) << csv;
}

TEST(Comparison, EveryOrderComesUpAndASeedRepeatsIt) {
  std::mt19937_64 generator(1);
  std::mt19937_64 again(1);
  std::set<std::vector<std::size_t>> orders;
  for (int i = 0; i < 1000; ++i) {
    const auto order = shuffled_order(4, generator);
    ASSERT_EQ(order, shuffled_order(4, again));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 24u);
}

}  // namespace
}  // namespace ashlar::cli
