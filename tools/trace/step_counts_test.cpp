#include "tools/trace/step_counts.hpp"

#include <gtest/gtest.h>

namespace ashlar::trace {
namespace {

step happened(step::what what, std::uint64_t time, std::uint64_t size) {
  step s;
  s.happened = what;
  s.time = time;
  s.size = size;
  s.thread = s.born_by = 1;
  return s;
}

TEST(StepCounts, EachStepCountsWhereItBelongs) {
  step_counts counts;
  EXPECT_TRUE(counts.count(happened(step::what::birth, 1, 10)));
  EXPECT_TRUE(counts.count(happened(step::what::birth, 2, 20)));
  EXPECT_FALSE(counts.count(happened(step::what::death, 3, 10)));
  EXPECT_FALSE(counts.count(happened(step::what::birth, 4, 5))) << "25 bytes, there were 30";
  EXPECT_FALSE(counts.count(happened(step::what::birth, 5, 5))) << "30 bytes, but in 3 blocks";
  EXPECT_TRUE(counts.count(happened(step::what::birth, 6, 1)));
  step elsewhere = happened(step::what::death, 7, 5);
  elsewhere.thread = 2;
  EXPECT_FALSE(counts.count(elsewhere));
  EXPECT_FALSE(counts.count(elsewhere));
  EXPECT_FALSE(counts.count(happened(step::what::unknown_death, 8, 1000)));
  step other = happened(step::what::other, 9, 1000);
  other.kind = event_kind::mark;
  EXPECT_FALSE(counts.count(other));
  other.kind = event_kind::lost;
  EXPECT_FALSE(counts.count(other));
  other.kind = event_kind::refused;
  other.thread = 7;
  EXPECT_FALSE(counts.count(other));
  EXPECT_EQ(counts.births, 5u);
  EXPECT_EQ(counts.birth_bytes, 41u);
  EXPECT_EQ(counts.deaths, 3u);
  EXPECT_EQ(counts.cross_thread_deaths, 2u);
  EXPECT_EQ(counts.lost, 1000u);
  EXPECT_EQ(counts.refused, 1u) << "a request, of 1000 bytes";
  EXPECT_EQ(counts.threads, 3u) << "1, 2 and 7";
  EXPECT_EQ(counts.live_blocks, 2u);
  EXPECT_EQ(counts.live_bytes, 21u);
  EXPECT_EQ(counts.peak_blocks, 4u);
  EXPECT_EQ(counts.peak_blocks_time, 6u);
  EXPECT_EQ(counts.peak_bytes, 31u);
  EXPECT_EQ(counts.peak_bytes_time, 6u);
}

}  // namespace
}  // namespace ashlar::trace
