#include "tools/report/bins.hpp"

#include <gtest/gtest.h>

namespace ashlar::report {
namespace {

TEST(SizeBins, EachSizeIsInItsBinAndTheBinsJoin) {
  for (std::size_t bin = 0; bin + 1 < size_bins::count; ++bin) {
    ASSERT_EQ(size_bins::last(bin) + 1, size_bins::begin(bin + 1)) << bin;
    ASSERT_EQ(size_bins::of(size_bins::begin(bin)), bin);
    ASSERT_EQ(size_bins::of(size_bins::last(bin)), bin);
  }
  for (std::uint64_t size = 0; size < 100000; ++size) {
    ASSERT_LE(size_bins::begin(size_bins::of(size)), size);
    ASSERT_GE(size_bins::last(size_bins::of(size)), size);
  }
  EXPECT_EQ(size_bins::of(0), 0u);
  EXPECT_EQ(size_bins::of(UINT64_MAX), size_bins::count - 1);
}

TEST(SizeBins, NoneIsWiderThanASixteenthOfItsSizes) {
  for (std::size_t bin = size_bins::exact; bin < size_bins::count; ++bin) {
    ASSERT_LT(size_bins::last(bin) - size_bins::begin(bin), size_bins::begin(bin) / 16) << bin;
  }
}

TEST(TimeBins, ADoublingEach) {
  EXPECT_EQ(time_bins::of(0), 0u);
  for (std::size_t bin = 1; bin < time_bins::count; ++bin) {
    EXPECT_EQ(time_bins::of(time_bins::begin(bin)), bin);
    EXPECT_EQ(time_bins::of(time_bins::begin(bin) - 1), bin - 1);
  }
  EXPECT_EQ(time_bins::of(UINT64_MAX), time_bins::count - 1);
}

}  // namespace
}  // namespace ashlar::report
