// When a group's figures say that memory is short.
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/runtime/pressure_watch.hpp>

namespace {

using ashlar::os::memory_pressure;
using ashlar::runtime::pressure_watch;

TEST(PressureWatch, LittleLeftIsShortAtOnce) {
  pressure_watch w;
  memory_pressure p{.used_bytes = 1'500, .limit_bytes = 1'600};
  EXPECT_FALSE(w.is_short(p, 1'000)) << "a sixteenth is left";
  p.used_bytes = 1'501;
  EXPECT_TRUE(w.is_short(p, 1'500));
  EXPECT_TRUE(pressure_watch().is_short(p, 0));
  p.used_bytes = 2'000;
  EXPECT_TRUE(w.is_short(p, 2'000)) << "beyond the limit (memory.high can be passed)";
  p.used_bytes = 10;
  EXPECT_FALSE(w.is_short(p, 2'500));
}

TEST(PressureWatch, NoLimitNeverRunsShort) {
  pressure_watch w;
  memory_pressure p;
  p.used_bytes = std::uint64_t{1} << 50;
  EXPECT_FALSE(w.is_short(p, 0));
  EXPECT_FALSE(w.is_short(p, 1'000));
}

TEST(PressureWatch, HitsOfTheLimitCountFromTheFirstLookOn) {
  pressure_watch w;
  memory_pressure p{.limit_hits = 7};
  EXPECT_FALSE(w.is_short(p, 0)) << "what was before the first look is past";
  EXPECT_FALSE(w.is_short(p, 500));
  p.limit_hits = 8;
  EXPECT_TRUE(w.is_short(p, 1'000));
  EXPECT_FALSE(w.is_short(p, 1'500));
  p.limit_hits = 0;  // the group is another one
  EXPECT_FALSE(w.is_short(p, 2'000));
}

TEST(PressureWatch, WaitingForATenthOfTheTimeIsShort) {
  pressure_watch w;
  memory_pressure p{.stalled_us = 5'000'000};
  EXPECT_FALSE(w.is_short(p, 10'000));
  p.stalled_us += 49'999;
  EXPECT_FALSE(w.is_short(p, 10'500));
  p.stalled_us += 50'000;
  EXPECT_TRUE(w.is_short(p, 11'000));
  EXPECT_FALSE(w.is_short(p, 11'000)) << "no time passed, and nothing was waited for";
}

}  // namespace
