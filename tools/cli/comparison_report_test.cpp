#include "tools/cli/comparison_report.hpp"

#include <csignal>

#include <gtest/gtest.h>

#include "tools/measure/comparison_test_samples.hpp"

namespace ashlar::cli {
namespace {

TEST(ComparisonReport, QuotesMediansOfMeasuredRunsAndRatiosToTheFirst) {
  const std::string text = render_comparison(measure::two_allocators(), glyphs::ascii);
  EXPECT_NE(text.find("1.000-1.000   0.50"), std::string::npos) << text;
  EXPECT_NE(text.find("2.0-2.0   2.00"), std::string::npos) << text;
}

TEST(ComparisonReport, ARunThatFailedIsMarkedAndNotQuoted) {
  measure::comparison compared = measure::two_allocators();
  compared.allocators[1].samples.push_back(measure::sample(0.001, 1, SIGSEGV));
  compared.allocators[1].error_output = "boom\n";
  const std::string text = render_comparison(compared, glyphs::ascii);
  EXPECT_NE(text.find("failed: other: 1 of 4 runs"), std::string::npos) << text;
  EXPECT_NE(text.find("SIGSEGV"), std::string::npos);
  EXPECT_NE(text.find("    boom\n"), std::string::npos);
  EXPECT_NE(text.find("other         3    failed\n"), std::string::npos) << text;
}

TEST(ComparisonReport, ASummaryRelatesEachProgramToItsFirstAllocator) {
  const measure::stored_comparison stored =
      measure::parse_comparison(measure::comparison_json(measure::two_allocators()).dump(), "x");
  const std::string text = render_summary({stored, stored}, glyphs::ascii);
  EXPECT_NE(text.find("0.50"), std::string::npos) << text;
}

}  // namespace
}  // namespace ashlar::cli
