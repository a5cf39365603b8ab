// When memory goes back, and who sees to it. What goes is in hollow_slabs_test.cpp.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_space.hpp>

#include <ashlar/heap/reclaimer.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using centrals = central_set<test::test_space, std::mutex, standard>;

constexpr std::size_t much = heap_bounds{}.settle_bytes_min;

struct clock_at {
  std::uint64_t ms;
  [[nodiscard]] std::uint64_t now_ms() const { return ms; }
};

/// A heap without blocks, so that a scan is at its end at once.
struct reclaimer_of_a_heap {
  reclaimer_of_a_heap() {
    EXPECT_TRUE(pages.start(standard_classes.bit_words_per_page, centrals::slots(much)));
    set_delay(1000);
  }
  void set_delay(std::int64_t ms) { pages.supply().set_policy({.delay_ms = ms, .keep_bytes = 0}); }
  /// Returns: whether a miss at time `ms` looked, which may do so much.
  bool miss(std::uint64_t ms, std::size_t instructions = 1'000'000) {
    step_budget left(instructions);
    clock_at clock{ms};
    r.after_miss(clock, nullptr, left);
    const std::size_t turns = instructions / cost_of(step::class_passed);
    return left.steps_left(step::class_passed, turns) != turns;  // it has spent some of it
  }
  /// Returns: whether blocks are sorted back before growth by `pages`, while `all` rests in a
  /// cache.
  bool sorts(resting_blocks all_that_rests, std::size_t pages_more,
             std::size_t instructions = 1'000'000) {
    struct cache {
      [[nodiscard]] resting_blocks resting() const { return all; }
      std::size_t give_resting(std::uint32_t, step_budget&) const { return asked = true, 0; }
      [[nodiscard]] bool gives_more(std::uint32_t) const { return false; }
      const resting_blocks& all;
      bool& asked;
    };
    bool asked = false;
    step_budget left(instructions);
    r.before_growth(cache{all_that_rests, asked}, pages_more, left);
    return asked;
  }

  sealable<test::test_space> space;
  page_heap<test::test_space, std::mutex> pages{space};
  centrals all;
  heap_bounds bounds;
  held_bytes held;
  reclaimer<centrals, std::mutex> r{all, pages, bounds, held};
};

// ---- age ---------------------------------------------------------------------------------------

class Reclaimer : public testing::Test {
 protected:
  const std::unique_ptr<reclaimer_of_a_heap> h_ = std::make_unique<reclaimer_of_a_heap>();
};

TEST_F(Reclaimer, OneOfTheMissesThatFindThatItIsTimeLooks) {
  EXPECT_TRUE(h_->miss(5)) << "the first miss looks";
  EXPECT_FALSE(h_->miss(5));
  EXPECT_FALSE(h_->miss(505)) << "half a delay and a millisecond is not over";
  EXPECT_TRUE(h_->miss(506));
  EXPECT_FALSE(h_->miss(506));
}

TEST_F(Reclaimer, ALookThatIsTooMuchForAMissGoesOnInTheNext) {
  unsigned misses = 0;
  while (h_->miss(5, 1)) ++misses;
  EXPECT_GT(misses, 2u);
  EXPECT_FALSE(h_->miss(505));
  EXPECT_TRUE(h_->miss(506)) << "half a delay after it began";
}

TEST_F(Reclaimer, AMissThatComesByForAnotherReasonBeginsNoLook) {
  EXPECT_TRUE(h_->miss(5));
  EXPECT_FALSE(h_->sorts({1, much}, 1));
  EXPECT_TRUE(h_->sorts({1, much}, 1, 1)) << "more than a call may do";
  EXPECT_TRUE(h_->miss(6)) << "it goes on with sorting";
  EXPECT_FALSE(h_->miss(7)) << "sorting is over, and no scan is due";
  EXPECT_TRUE(h_->miss(506));
}

TEST_F(Reclaimer, ANewDelayMakesTheNextMissLook) {
  h_->set_delay(1'000'000);
  EXPECT_TRUE(h_->miss(1));
  h_->set_delay(10);
  EXPECT_FALSE(h_->miss(2));
  h_->r.forget_time();
  EXPECT_TRUE(h_->miss(2));
}

TEST_F(Reclaimer, MissesDoNotLookWhileOthersDo) {
  h_->r.let_misses_reclaim(h_->r.never);
  EXPECT_FALSE(h_->miss(INT64_MAX));
  h_->r.forget_time();
  EXPECT_FALSE(h_->miss(INT64_MAX)) << "a new delay changes nothing";
  EXPECT_FALSE(h_->sorts({1, much}, 1));
  EXPECT_TRUE(h_->sorts({1, much}, 1));
  EXPECT_FALSE(h_->miss(INT64_MAX)) << "nor does sorting";
  h_->r.let_misses_reclaim(100);
  EXPECT_FALSE(h_->miss(99));
  EXPECT_TRUE(h_->miss(100));
}

TEST_F(Reclaimer, LooksAreHalfADelayApartOrNever) {
  EXPECT_EQ(reclaim_interval_ms(1000), 501);
  EXPECT_EQ(reclaim_interval_ms(0), 1);
  EXPECT_LT(reclaim_interval_ms(-1), 0);
  h_->set_delay(-1);
  EXPECT_FALSE(h_->miss(INT64_MAX));
}

// ---- growth to come ----------------------------------------------------------------------------

TEST_F(Reclaimer, ALittleIsSortedBackWhenGrowthHasPaidForIt) {
  const resting_blocks little{100, 1600};
  EXPECT_FALSE(h_->sorts(little, 1)) << "nothing has grown before";
  EXPECT_FALSE(h_->sorts(little, 1)) << "one page pays for 64 blocks";
  EXPECT_TRUE(h_->sorts(little, 1)) << "two pages pay for 128";
  EXPECT_FALSE(h_->sorts(little, 1)) << "what was paid is spent";
}

TEST_F(Reclaimer, AsManyBlocksAsArePaidForAreEnough) {
  EXPECT_FALSE(h_->sorts({1, 16}, 2));
  EXPECT_FALSE(h_->sorts({129, 129 * 16}, 0));
  EXPECT_TRUE(h_->sorts({128, 128 * 16}, 0));
}

TEST_F(Reclaimer, MuchIsSortedBackAfterAnyGrowth) {
  const resting_blocks all{1'000'000, much};
  EXPECT_FALSE(h_->sorts(all, 1)) << "no growth has paid";
  EXPECT_TRUE(h_->sorts(all, 1));
  EXPECT_FALSE(h_->sorts(all, 1)) << "growth that sorting avoided pays nothing";
}

TEST_F(Reclaimer, NothingIsNotSortedBack) {
  EXPECT_FALSE(h_->sorts({}, 1000));
  EXPECT_FALSE(h_->sorts({}, 1000));
  h_->bounds.settle_bytes_min = 0;
  EXPECT_FALSE(h_->sorts({}, 1000)) << "not even where every amount is much";
  h_->bounds.settle_bytes_min = SIZE_MAX;
  EXPECT_FALSE(h_->sorts({1, much}, 1000)) << "nor where nothing is summed up";
}

// ---- the end of a thread -----------------------------------------------------------------------

TEST_F(Reclaimer, AnOwnerThatEndsPaysWithWhatItMoved) {
  h_->all.start(h_->pages, much, SIZE_MAX);
  auto& central = h_->all[standard::class_for(64, 1)];
  constexpr std::size_t count = much / 64;
  std::vector<void*> blocks(count);
  step_budget all = step_budget::without_end();
  for (std::size_t got = 0; got < count;)
    got += central.take(blocks.data() + count - got, count - got, growth::allowed, all);
  ASSERT_EQ(central.give(blocks.data(), count, "free", all), count);
  ASSERT_EQ(central.stashed(), count);
  h_->r.at_end(count - 1);
  EXPECT_EQ(central.stashed(), count) << "it moved less than rests";
  h_->held.note(much + 1);
  h_->r.at_end(count);
  EXPECT_EQ(central.stashed(), count) << "more is in use than rests";
  h_->held.note(-1);
  h_->bounds.settle_bytes_min = much + 1;
  h_->r.at_end(count);
  EXPECT_EQ(central.stashed(), count) << "it is not much";
  h_->bounds.settle_bytes_min = much;
  h_->r.at_end(count);
  EXPECT_EQ(central.stashed(), 0u);
  h_->pages.release_all();
}

}  // namespace
