// When sorting blocks back pays: a decision without a heap.
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/heap/central_set.hpp>
#include <ashlar/heap/settling.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;

constexpr std::size_t much = 512 * 1024;

TEST(Settling, ALittleIsSortedBackWhenGrowthHasPaidForIt) {
  settling s;
  const resting_blocks little{100, 1600};
  EXPECT_FALSE(s.pays_before_growth(little, 1, much)) << "nothing has grown before";
  EXPECT_FALSE(s.pays_before_growth(little, 1, much)) << "one page pays for 64 blocks";
  EXPECT_TRUE(s.pays_before_growth(little, 1, much)) << "two pages pay for 128";
  EXPECT_FALSE(s.pays_before_growth(little, 1, much)) << "what was paid is spent";
}

TEST(Settling, AsManyBlocksAsArePaidForAreEnough) {
  settling s;
  EXPECT_FALSE(s.pays_before_growth({1, 16}, 2, much));
  EXPECT_FALSE(s.pays_before_growth({129, 129 * 16}, 0, much));
  EXPECT_TRUE(s.pays_before_growth({128, 128 * 16}, 0, much));
}

TEST(Settling, MuchIsSortedBackAfterAnyGrowth) {
  settling s;
  const resting_blocks all{1'000'000, much};
  EXPECT_FALSE(s.pays_before_growth(all, 1, much)) << "no growth has paid";
  EXPECT_TRUE(s.pays_before_growth(all, 1, much));
  EXPECT_FALSE(s.pays_before_growth(all, 1, much)) << "growth that sorting avoided pays nothing";
}

TEST(Settling, NothingIsNotSortedBack) {
  settling s;
  EXPECT_FALSE(s.pays_before_growth({}, 1000, much));
  EXPECT_FALSE(s.pays_before_growth({}, 1000, much));
  EXPECT_FALSE(s.pays_before_growth({}, 1000, 0)) << "not even where every amount is much";
}

TEST(Settling, AnOwnerThatEndsPaysWithWhatItMoved) {
  const resting_blocks all{1000, much};
  EXPECT_TRUE(settling::pays_at_end(all, 1000, much, much));
  EXPECT_FALSE(settling::pays_at_end(all, 999, much, much)) << "it moved less than rests";
  EXPECT_FALSE(settling::pays_at_end(all, 1000, much + 1, much)) << "more is in use than rests";
  EXPECT_FALSE(settling::pays_at_end(all, 1000, much, much + 1)) << "it is not much";
}

}  // namespace
