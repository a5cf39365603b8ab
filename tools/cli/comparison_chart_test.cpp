#include "tools/cli/comparison_chart.hpp"

#include <csignal>
#include <cstddef>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tools/measure/comparison_test_samples.hpp"

namespace ashlar::cli {
namespace {

std::size_t times(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) ++count;
  return count;
}

// Returns: the name of the first element that is not ended where it must be; "" where all are. For text
// whose attributes have no '>'.
std::string first_wrong_element(const std::string& text) {
  std::vector<std::string> open;
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos; ++at) {
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) return text.substr(at);
    const std::string inside = text.substr(at + 1, end - at - 1);
    const std::string name = inside.substr(0, inside.find_first_of(" \n/", 1));
    if (inside[0] == '/') {
      if (open.empty() || open.back() != inside.substr(1)) return inside;
      open.pop_back();
    } else if (inside[0] != '!' && inside.back() != '/' && name != "meta") {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : open.back();
}

TEST(ComparisonChart, EachMeasuredRunIsADotAndEachMedianABar) {
  const std::string picture = comparison_picture(measure::two_allocators());
  EXPECT_EQ(times(picture, "<circle"), 2u * (3 + 2)) << "time and memory; no run to warm up";
  EXPECT_EQ(times(picture, "class=\"bar"), 4u);
  EXPECT_EQ(times(picture, "class=\"bar best\""), 2u);
  EXPECT_NE(picture.find(">1.000  (0.50)<"), std::string::npos) << picture;
  EXPECT_NE(picture.find(">2.0  (2.00)<"), std::string::npos) << picture;
  EXPECT_EQ(first_wrong_element(picture), "") << picture;
}

TEST(ComparisonChart, ThoseWhoDoNotSeeItReadTheMedians) {
  const std::string picture = comparison_picture(measure::two_allocators());
  EXPECT_NE(picture.find("wall time, s, median of the runs: system 2.000; other 1.000."),
            std::string::npos)
      << picture;
}

TEST(ComparisonChart, NamesAreTextNotMarkup) {
  measure::comparison compared = measure::two_allocators();
  compared.label = "<b> & \"x\"\x1b";
  compared.allocators[1].which.name = "a<i>";
  compared.command = {"./a", "<script>"};
  for (const std::string& text : {comparison_picture(compared), comparison_page(compared)}) {
    EXPECT_NE(text.find("&lt;b&gt; &amp; &quot;x&quot;\\x1b"), std::string::npos) << text;
    EXPECT_NE(text.find("a&lt;i&gt;"), std::string::npos) << text;
    EXPECT_EQ(text.find("<script>"), std::string::npos);
    EXPECT_EQ(first_wrong_element(text), "") << text;
  }
}

TEST(ComparisonChart, AnAllocatorThatFailedHasNoBarAndItsNote) {
  measure::comparison compared = measure::two_allocators();
  compared.allocators[1].samples.push_back(measure::sample(0.001, 1, SIGSEGV));
  compared.allocators[1].error_output = "boom <1>\n";
  const std::string page = comparison_page(compared);
  EXPECT_EQ(times(page, "class=\"bar"), 2u);
  EXPECT_NE(page.find("SIGSEGV"), std::string::npos) << page;
  EXPECT_NE(page.find("    boom &lt;1&gt;\n"), std::string::npos) << page;
  EXPECT_EQ(first_wrong_element(page), "") << page;
}

TEST(ComparisonChart, WithoutAnyRunThereIsAPictureStill) {
  measure::comparison compared = measure::two_allocators();
  for (measure::allocator_samples& each : compared.allocators) each.samples.clear();
  const std::string picture = comparison_picture(compared);
  EXPECT_EQ(times(picture, ">not run<"), 4u) << picture;
  EXPECT_EQ(first_wrong_element(picture), "");
}

}  // namespace
}  // namespace ashlar::cli
