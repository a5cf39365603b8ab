#include "tools/cli/pool_report.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/cli/error.hpp"

// Statistics as the drop-in library writes them.
namespace ashlar::cli {

inline nlohmann::json sample_class(std::uint64_t block_size, std::uint64_t peak_in_use) {
  return {{"block_size", block_size},
          {"blocks_made", peak_in_use + 5},
          {"blocks_in_use", 1},
          {"peak_in_use", peak_in_use},
          {"peak_bytes", peak_in_use * block_size},
          {"allocations", peak_in_use * 2},
          {"frees", peak_in_use * 2 - 1},
          {"slack_bytes", 7},
          {"slabs", 2},
          {"committed_bytes", 65536}};
}

// `count` classes of 16, 32, ... bytes in falling order, each with as many peak blocks as its
// place.
inline nlohmann::json sample_statistics(std::uint64_t count) {
  nlohmann::json document{{"ashlar", "0.1.0"},
                          {"schema", 1},
                          {"accuracy", "batch"},
                          {"pid", 4711},
                          {"command", "work"}};
  document["total"] = {{"bytes_in_use", 1000},        {"peak_bytes_in_use", 5u << 20},
                       {"allocations", 10},           {"frees", 9},
                       {"slack_bytes", 100},          {"reserved_bytes", 1ull << 40},
                       {"committed_bytes", 1u << 20}, {"peak_committed_bytes", 6u << 20},
                       {"resident_bytes", 2u << 20},  {"given_back_bytes", 0},
                       {"metadata_bytes", 4096},      {"threads", 1},
                       {"guards_refused", 0},         {"limit_bytes", 0},
                       {"limit_refusals", 0},         {"pinned_bytes", 0}};
  document["large"] = sample_class(0, 3);
  document["classes"] = nlohmann::json::array();
  for (std::uint64_t i = count; i > 0; --i) document["classes"].push_back(sample_class(16 * i, i));
  return document;
}

}  // namespace ashlar::cli

namespace ashlar::cli {
namespace {

pool_statistics sample(std::uint64_t classes) {
  return parse_pool_statistics(sample_statistics(classes).dump(), "the sample");
}

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(PoolStatistics, AreReadAsWrittenAndSortedByBlockSize) {
  const pool_statistics statistics = sample(3);
  EXPECT_EQ(statistics.pid, 4711);
  EXPECT_FALSE(statistics.exact);
  EXPECT_EQ(statistics.large.peak_in_use, 3u);
  EXPECT_EQ(statistics.total.reserved_bytes, 1ull << 40);
  ASSERT_EQ(statistics.classes.size(), 3u);
  EXPECT_EQ(statistics.classes[0].block_size, 16u);
  EXPECT_EQ(statistics.classes[2].block_size, 48u);
  EXPECT_EQ(statistics.classes[2].peak_bytes, 3u * 48u);
}

TEST(PoolStatistics, AFileCutShortAnywhereIsAnErrorThatNamesIt) {
  const std::string whole = sample_statistics(2).dump();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    try {
      parse_pool_statistics(whole.substr(0, size), "process 7");
      FAIL() << "accepted " << size << " bytes of " << whole.size();
    } catch (const command_error& error) {
      ASSERT_NE(std::string(error.what()).find("process 7"), std::string::npos);
    }
  }
}

TEST(PoolStatistics, AnotherSchemaAndAMissingPartAreErrors) {
  nlohmann::json document = sample_statistics(1);
  document["schema"] = 2;
  EXPECT_THROW(parse_pool_statistics(document.dump(), "x"), command_error);
  document["schema"] = 1;
  document.erase("large");
  EXPECT_THROW(parse_pool_statistics(document.dump(), "x"), command_error);
}

TEST(PoolStatistics, NumbersThatAreNoCountsAreErrors) {
  for (const nlohmann::json& wrong :
       {nlohmann::json(1e40), nlohmann::json(-1), nlohmann::json(1.5)}) {
    nlohmann::json document = sample_statistics(3);
    document["classes"][1]["frees"] = wrong;
    EXPECT_THROW(parse_pool_statistics(document.dump(), "x"), command_error) << wrong;
    document = sample_statistics(3);
    document["pid"] = wrong;
    EXPECT_THROW(parse_pool_statistics(document.dump(), "x"), command_error) << wrong;
  }
}

TEST(PoolReport, ASummaryListsTheClassesWithTheMostPeakBytesAndAddsUpTheRest) {
  const std::string text = render_pool_report(sample(20), report_detail::summary, glyphs::ascii);
  EXPECT_NE(text.find("\n   320 B "), std::string::npos) << text;
  EXPECT_EQ(text.find("  64 B "), std::string::npos) << text;
  EXPECT_NE(text.find("  4 more "), std::string::npos) << text;
  EXPECT_NE(text.find(" large "), std::string::npos);
  // 16 * (1*1 + 2*2 + 3*3 + 4*4) bytes are not listed one by one.
  EXPECT_NE(text.find("480 B   1.0 %"), std::string::npos) << text;
}

TEST(PoolReport, AFullReportListsEveryClass) {
  const std::string text = render_pool_report(sample(20), report_detail::full, glyphs::ascii);
  for (int i = 1; i <= 20; ++i) {
    EXPECT_NE(text.find(fmt::format(" {} B  ", 16 * i)), std::string::npos) << i;
  }
  EXPECT_EQ(lines_with(text, " more "), 0u);
  EXPECT_NE(text.find("1.0 TiB reserved"), std::string::npos);
}

TEST(PoolReport, AsciiMeansAscii) {
  const std::string text = render_pool_report(sample(30), report_detail::full, glyphs::ascii);
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c > 0; }));
}

TEST(PoolReport, NoClassAtAllIsNoFault) {
  const std::string text = render_pool_report(sample(0), report_detail::summary, glyphs::utf8);
  EXPECT_NE(text.find("at peak"), std::string::npos);
}

}  // namespace
}  // namespace ashlar::cli
