#include "tools/cli/table.hpp"

#include <gtest/gtest.h>

namespace ashlar::cli {
namespace {

TEST(Table, ColumnsLineUpByTheirSideAndLinesHaveNoTrailingBlanks) {
  table lines({{"name", align::left}, {"count"}});
  lines.add_row({"a", "1"});
  lines.add_row({"longer", "100"});
  lines.add_row({"b"});
  EXPECT_EQ(lines.render(),
            "name    count\n"
            "a           1\n"
            "longer    100\n"
            "b\n");
}

TEST(Table, AGroupStandsOverItsColumnsAndSetsThemApart) {
  table lines(
      {{"x", align::left}, {"a", align::right, "wide group"}, {"b", align::right, "wide group"}});
  lines.add_row({"r", "1", "2"});
  EXPECT_EQ(lines.render(1),
            "      wide group\n"
            " x    a        b\n"
            " r    1        2\n");
}

TEST(Table, WidthIsCountedInColumnsNotInBytes) {
  table lines({{"r"}, {"s"}});
  lines.add_row({"1–2", "x"});
  lines.add_row({"10–20", "x"});
  EXPECT_EQ(lines.render(),
            "    r  s\n"
            "  1–2  x\n"
            "10–20  x\n");
}

TEST(Table, TooManyCellsAreAMistake) {
  table lines({{"only"}});
  EXPECT_THROW(lines.add_row({"1", "2"}), std::logic_error);
}

}  // namespace
}  // namespace ashlar::cli
