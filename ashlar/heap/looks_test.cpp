// When a look is due, and who makes it. What a look gives back is in hollow_slabs_test.cpp.
#include <cstdint>
#include <memory>
#include <mutex>
#include <tests/support/test_space.hpp>

#include <gtest/gtest.h>

#include <ashlar/heap/central_set.hpp>
#include <ashlar/heap/looks.hpp>
#include <ashlar/heap/page_heap.hpp>
#include <ashlar/heap/sealable.hpp>
#include <ashlar/heap/work_bound.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using centrals = central_set<test::test_space, std::mutex, standard>;
using looks_under_test = looks<centrals, std::mutex, standard>;

/// A heap without blocks, so that a look is at its end at once.
struct looks_of_a_heap {
  looks_of_a_heap() { EXPECT_TRUE(pages.start(standard_classes.bit_words_per_page)); }
  /// Returns: whether a miss at time `ms` looked, which may do so much.
  bool miss(std::uint64_t ms, std::int64_t delay, std::size_t instructions = 1'000'000) {
    if (!l.is_time(ms)) return false;
    work left(instructions);
    l.go_on(ms, delay, all, pages, 8192, 0, nullptr, left);
    return true;
  }

  looks_under_test l;
  sealable<test::test_space> space;
  page_heap<test::test_space, std::mutex> pages{space};
  centrals all;
};

TEST(Looks, OneOfTheCallersThatFindThatItIsTimeLooks) {
  const auto h = std::make_unique<looks_of_a_heap>();
  EXPECT_TRUE(h->miss(5, 1000)) << "the first miss looks";
  EXPECT_FALSE(h->miss(5, 1000));
  EXPECT_FALSE(h->miss(505, 1000)) << "half a delay and a millisecond is not over";
  EXPECT_TRUE(h->miss(506, 1000));
  EXPECT_FALSE(h->miss(506, 1000));
}

TEST(Looks, ALookThatIsTooMuchForAMissGoesOnInTheNext) {
  const auto h = std::make_unique<looks_of_a_heap>();
  unsigned misses = 0;
  while (h->miss(5, 1000, 1)) ++misses;
  EXPECT_GT(misses, 2u);
  EXPECT_FALSE(h->miss(505, 1000));
  EXPECT_TRUE(h->miss(506, 1000)) << "half a delay after it began";
}

TEST(Looks, AMissThatComesByForAnotherReasonBeginsNoLook) {
  const auto h = std::make_unique<looks_of_a_heap>();
  EXPECT_TRUE(h->miss(5, 1000));
  h->l.hurry();
  EXPECT_TRUE(h->miss(6, 1000, 1));
  EXPECT_FALSE(h->miss(7, 1000)) << "it would go on if it had begun";
  EXPECT_TRUE(h->miss(506, 1000));
}

TEST(Looks, ANewDelayMakesTheNextMissLook) {
  const auto h = std::make_unique<looks_of_a_heap>();
  EXPECT_TRUE(h->miss(1, 1'000'000));
  EXPECT_FALSE(h->miss(2, 10));
  h->l.forget_time();
  EXPECT_TRUE(h->miss(2, 10));
}

TEST(Looks, MissesDoNotLookWhileOthersDo) {
  const auto h = std::make_unique<looks_of_a_heap>();
  h->l.let_others_look();
  EXPECT_FALSE(h->miss(INT64_MAX, 1000));
  h->l.forget_time();
  EXPECT_FALSE(h->miss(INT64_MAX, 1000)) << "a new delay changes nothing";
  h->l.hurry();
  EXPECT_FALSE(h->miss(INT64_MAX, 1000));
  h->l.let_misses_look(100);
  EXPECT_FALSE(h->miss(99, 1000));
  EXPECT_TRUE(h->miss(100, 1000));
}

TEST(Looks, AreHalfADelayApartOrNever) {
  EXPECT_EQ(look_interval_ms(1000), 501);
  EXPECT_EQ(look_interval_ms(0), 1);
  EXPECT_LT(look_interval_ms(-1), 0);
}

}  // namespace
