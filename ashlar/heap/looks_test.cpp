// When a look is due, and who makes it. What a look gives back is in hollow_slabs_test.cpp.
#include <cstdint>
#include <mutex>
#include <tests/support/test_space.hpp>

#include <gtest/gtest.h>

#include <ashlar/heap/central_set.hpp>
#include <ashlar/heap/looks.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using centrals = central_set<test::test_space, std::mutex, standard>;
using looks_under_test = looks<centrals, std::mutex, standard>;

TEST(Looks, OneOfTheCallersThatFindThatItIsTimeLooks) {
  looks_under_test l;
  EXPECT_TRUE(l.is_time(5, 1000)) << "the first miss looks";
  EXPECT_FALSE(l.is_time(5, 1000));
  EXPECT_FALSE(l.is_time(505, 1000)) << "half a delay and a millisecond is not over";
  EXPECT_TRUE(l.is_time(506, 1000));
  EXPECT_FALSE(l.is_time(506, 1000));
}

TEST(Looks, ANewDelayMakesTheNextMissLook) {
  looks_under_test l;
  EXPECT_TRUE(l.is_time(1, 1'000'000));
  EXPECT_FALSE(l.is_time(2, 10));
  l.forget_time();
  EXPECT_TRUE(l.is_time(2, 10));
}

TEST(Looks, MissesDoNotLookWhileOthersDo) {
  looks_under_test l;
  l.let_others_look();
  EXPECT_FALSE(l.is_time(INT64_MAX, 1000));
  l.forget_time();
  EXPECT_FALSE(l.is_time(INT64_MAX, 1000)) << "a new delay changes nothing";
  l.let_misses_look(100);
  EXPECT_FALSE(l.is_time(99, 1000));
  EXPECT_TRUE(l.is_time(100, 1000));
}

TEST(Looks, AreHalfADelayApartOrNever) {
  EXPECT_EQ(look_interval_ms(1000), 501);
  EXPECT_EQ(look_interval_ms(0), 1);
  EXPECT_LT(look_interval_ms(-1), 0);
}

}  // namespace
