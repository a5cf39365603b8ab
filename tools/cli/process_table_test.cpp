#include "tools/cli/process_table.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include <gtest/gtest.h>

namespace ashlar::cli {
namespace {

pool_statistics figures(std::uint64_t live, std::uint64_t allocations, bool exact = false) {
  pool_statistics s;
  s.pid = 4711;
  s.command = "server";
  s.exact = exact;
  s.total.bytes_in_use = live;
  s.total.peak_bytes_in_use = 2 * live;
  s.total.resident_bytes = 3 * live;
  s.total.allocations = allocations;
  class_figures c{};
  c.block_size = 64;
  c.allocations = allocations;
  s.classes.push_back(c);
  return s;
}

TEST(ProcessTable, RatesAreDifferencesOverTime) {
  const process_row row = row_between(figures(1000, 10), figures(1600, 30), 2);
  EXPECT_EQ(row.live_bytes, 1600u);
  EXPECT_EQ(row.peak_bytes, 3200u);
  EXPECT_EQ(row.resident_bytes, 4800u);
  EXPECT_DOUBLE_EQ(row.growth_per_minute, 600 * 60 / 2.0);
  EXPECT_DOUBLE_EQ(row.allocated_per_second, 20 * 64 / 2.0);
  EXPECT_DOUBLE_EQ(row.calls_per_second, 10);
  EXPECT_DOUBLE_EQ(row_between(figures(1600, 30), figures(1000, 40), 2).growth_per_minute,
                   -600 * 60 / 2.0);
}

TEST(ProcessTable, WithoutAnEarlierMomentThereAreNoRates) {
  for (const process_row& row : {row_between(figures(9, 9), figures(9, 9), 0),
                                 row_between(figures(9, 900), figures(9, 9), 1)}) {
    EXPECT_EQ(row.growth_per_minute, 0);
    EXPECT_EQ(row.allocated_per_second, 0);
    EXPECT_EQ(row.calls_per_second, 0);
  }
}

TEST(ProcessTable, TheLargestIsFirstInEachOrder) {
  std::vector<process_row> rows(3);
  rows[0].live_bytes = rows[1].resident_bytes = rows[2].peak_bytes = 5;
  rows[1].growth_per_minute = 5;
  rows[2].growth_per_minute = -5;
  rows[2].allocated_per_second = 5;
  rows[0].pid = 1, rows[1].pid = 2, rows[2].pid = 3;
  const auto first = [&](std::string_view column) {
    sort_rows(rows, column);
    return rows.front().pid;
  };
  EXPECT_EQ(first("live"), 1);
  EXPECT_EQ(first("resident"), 2);
  EXPECT_EQ(first("growth"), 2);
  EXPECT_EQ(first("rate"), 3);
  EXPECT_EQ(first("peak"), 3);
}

TEST(ProcessTable, AFigureThatIsNotExactSaysSo) {
  const auto text = [](bool exact, glyphs set) {
    return render_rows({row_between(figures(1000, 0, exact), figures(1000, 20, exact), 1)}, 0, 200,
                       100, set);
  };
  EXPECT_NE(text(false, glyphs::utf8).find("≥20"), std::string::npos);
  EXPECT_NE(text(false, glyphs::ascii).find(">20"), std::string::npos);
  EXPECT_EQ(text(true, glyphs::utf8).find("≥"), std::string::npos);
}

TEST(ProcessTable, ItFitsTheScreen) {
  std::vector<process_row> rows(
      50, row_between(figures(123'456'789'000, 0), figures(987'654'321'000, 90'000'000), 1));
  const auto lines_of = [&](std::size_t columns, std::size_t lines) {
    std::istringstream text(render_rows(rows, 2, columns, lines, glyphs::utf8));
    std::vector<std::string> all;
    for (std::string line; std::getline(text, line);) all.push_back(line);
    return all;
  };
  EXPECT_EQ(lines_of(500, 100).size(), 1 + rows.size() + 1);
  for (const std::string& line : lines_of(500, 100)) EXPECT_LE(display_width(line), 80u) << line;
  EXPECT_EQ(lines_of(80, 23).size(), 23u);
  EXPECT_TRUE(lines_of(80, 0).empty());
  for (std::size_t columns = 0; columns < 80; ++columns)
    for (const std::string& line : lines_of(columns, 3)) {
      EXPECT_LE(display_width(line), columns);
      EXPECT_TRUE(line.empty() || (static_cast<unsigned char>(line.back()) & 0xC0) != 0xC0)
          << "a character was cut in its middle";
    }
}

TEST(ProcessTable, NothingIsSaidWithItsRemedy) {
  EXPECT_NE(render_rows({}, 0, 80, 24, glyphs::ascii).find("ASHLAR_CONTROL=1"), std::string::npos);
  EXPECT_NE(render_rows({}, 1, 80, 24, glyphs::ascii).find("1 process gave no answer"),
            std::string::npos);
  EXPECT_EQ(rows_json({}, 3)["without_answer"], 3);
}

}  // namespace
}  // namespace ashlar::cli
