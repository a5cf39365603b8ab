// The text and Prometheus forms, read back line by line.
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tests/support/written_stats.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/ashlar.h>
#include <ashlar/core/stats_fields.hpp>

namespace {

using ashlar::class_stats_fields;
using ashlar::total_stats_fields;
using ashlar::test::written_stats;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Some blocks of 128 bytes and a large one, in use while a test lasts.
class StatsText : public testing::Test {
 protected:
  StatsText() {
    for (void*& block : small) block = xmalloc(120);
    large = xmalloc(200'000);
    ashlar_stats_get(&stats);
  }
  ~StatsText() override {
    for (void* block : small) xfree(block);
    xfree(large);
  }

  void* small[10];
  void* large;
  ashlar_stats stats;
};

TEST_F(StatsText, TheClassicLineIsThereAndParses) {
  const std::regex classic(
      "xallocator Block Size: (\\d+) Block Count: (\\d+) Blocks In Use: (\\d+).*");
  std::map<unsigned long, std::pair<unsigned long, unsigned long>> seen;
  for (const std::string& line : lines_of(written_stats(ASHLAR_STATS_TEXT))) {
    std::smatch m;
    if (std::regex_match(line, m, classic))
      seen[std::stoul(m[1])] = {std::stoul(m[2]), std::stoul(m[3])};
  }
  ASSERT_EQ(seen.count(128), 1u);
  EXPECT_EQ(seen[128].first, stats.classes[7].blocks_made);
  EXPECT_EQ(seen[128].second, stats.classes[7].blocks_in_use);
  EXPECT_GE(seen[128].second, 10u);
  for (const auto& [size, counts] : seen) EXPECT_GE(counts.first, counts.second) << size;
}

TEST_F(StatsText, EveryLineOfTheTextHasItsForm) {
  const std::regex of_class(
      "xallocator Block Size: (\\d+|large) Block Count: \\d+ Blocks In Use: \\d+ Peak: \\d+ "
      "Allocations: \\d+ Frees: \\d+ Slack: \\d+ Slabs: \\d+ Committed: \\d+");
  const std::regex of_total("xallocator Total \\(batch accuracy\\)( [a-z_]+: \\d+){" +
                            std::to_string(std::size(total_stats_fields)) + "}");
  const std::vector<std::string> lines = lines_of(written_stats(ASHLAR_STATS_TEXT));
  ASSERT_GE(lines.size(), 3u);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i)
    EXPECT_TRUE(std::regex_match(lines[i], of_class)) << lines[i];
  EXPECT_NE(lines[lines.size() - 2].find("Block Size: large "), std::string::npos);
  EXPECT_TRUE(std::regex_match(lines.back(), of_total)) << lines.back();
}

TEST_F(StatsText, TheClassicReportHasTheClassicLinesOnly) {
  testing::internal::CaptureStdout();
  xalloc_stats();
  const std::vector<std::string> lines = lines_of(testing::internal::GetCapturedStdout());
  const std::regex classic(
      "xallocator (Block Size: (\\d+|large) Block Count: \\d+ Blocks In Use: \\d+|Note: .*)");
  ASSERT_GE(lines.size(), 2u);
  for (const std::string& line : lines) EXPECT_TRUE(std::regex_match(line, classic)) << line;
}

TEST_F(StatsText, PrometheusLinesAreWellFormed) {
  const std::regex help("# HELP ([a-z_]+) [A-Z][^\\n]*\\.");
  const std::regex type("# TYPE ([a-z_]+) (gauge|counter)");
  const std::regex sample("([a-z_]+)(\\{block_size=\"(\\d+|large)\"\\})? (\\d+)");
  std::string described, declared, kind;
  std::set<std::string> names, samples;
  std::map<std::string, unsigned long> values;
  for (const std::string& line : lines_of(written_stats(ASHLAR_STATS_PROMETHEUS))) {
    std::smatch m;
    if (std::regex_match(line, m, help)) {
      described = m[1];
      continue;
    }
    if (std::regex_match(line, m, type)) {
      declared = m[1];
      EXPECT_EQ(declared, described) << "the help comes first: " << line;
      kind = m[2];
      EXPECT_TRUE(names.insert(declared).second) << "declared twice: " << line;
      EXPECT_EQ(declared.ends_with("_total"), kind == "counter") << line;
      continue;
    }
    ASSERT_TRUE(std::regex_match(line, m, sample)) << line;
    EXPECT_EQ(m[1], declared) << "a sample belongs under its own type";
    EXPECT_EQ(m[2].matched, declared.rfind("ashlar_class_", 0) == 0) << line;
    const std::string series = m[1].str() + m[2].str();
    EXPECT_TRUE(samples.insert(series).second) << "given twice: " << line;
    values[series] = std::stoul(m[4]);
  }
  // The size of a class's blocks is a label.
  EXPECT_EQ(names.size(), std::size(class_stats_fields) - 1 + std::size(total_stats_fields));
  EXPECT_EQ(values.at("ashlar_class_blocks_in_use{block_size=\"128\"}"),
            stats.classes[7].blocks_in_use);
  EXPECT_EQ(values.at("ashlar_class_blocks_in_use{block_size=\"large\"}"),
            stats.large.blocks_in_use);
  EXPECT_EQ(values.at("ashlar_heap_allocations_total") - values.at("ashlar_heap_frees_total"),
            stats.total.allocations - stats.total.frees);
  EXPECT_GT(values.at("ashlar_process_resident_bytes"), 0u);
}

TEST_F(StatsText, AFailingStreamIsReported) {
  for (const ashlar_stats_format format :
       {ASHLAR_STATS_TEXT, ASHLAR_STATS_JSON, ASHLAR_STATS_PROMETHEUS}) {
    for (const bool buffered : {true, false}) {
      std::FILE* full = std::fopen("/dev/full", "w");
      if (full == nullptr) GTEST_SKIP() << "no device that is always full";
      if (!buffered) std::setvbuf(full, nullptr, _IONBF, 0);
      errno = 0;
      EXPECT_EQ(ashlar_stats_write(full, format), -1);
      EXPECT_EQ(errno, ENOSPC);
      std::fclose(full);
    }
  }
}

}  // namespace
