// The steps of a call's loops, by their costs, stay within what it may spend.
#include <tests/support/test_headers.hpp>
#include <tests/work_bound/measure.hpp>
#include <tests/work_bound/worst.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::work_bound;
using detail::step;

// docs/latency.md has these.
static_assert(heap_bounds{}.most_instructions() == 17'689);
static_assert(heap_bounds::low_latency().most_instructions() == 4'749);

/// What a call may spend, the step that it is in then, and a slab that is made and gives it a block all the
/// same.
std::size_t most_cost(const heap_bounds& bounds) {
  return bounds.instructions_a_call + detail::cost_of(step::slab_made) + detail::dearest_step +
         detail::cost_of(step::slab_taken_from) + detail::cost_of(step::block_taken) +
         detail::slab_words_max * detail::cost_of(step::word_passed);
}

void expect_bounded(const program& p, const heap_bounds& bounds) {
  const measured m = heaviest(p, bounds, work_bound::cost_of, false);
  EXPECT_LE(work_bound::cost_of(m.of_call), most_cost(bounds)) << text_of(p) << "call " << m.call;
}

/// As expect_bounded, with the default bounds, those for low latency, and small stashes, so that more is sorted back.
void expect_bounded(const program& p) {
  heap_bounds small_stashes;
  small_stashes.stash_bytes = heap_bounds::stash_bytes_min;
  for (const heap_bounds& bounds : {heap_bounds{}, heap_bounds::low_latency(), small_stashes})
    expect_bounded(p, bounds);
}

TEST(WorkBound, HoldsForTheWorstProgramsThatWereFound) {
  for (const char* text : worst_programs) expect_bounded(program_of(text));
}

TEST(WorkBound, HoldsForProgramsByChance) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    expect_bounded(random_program(random));
  }
}

// Else the checks above show nothing.
TEST(WorkBound, IsExceededWhereACallMaySpendMore) {
  heap_bounds more;
  more.instructions_a_call = 1'000'000;
  std::size_t exceeded = 0;
  for (const char* text : worst_programs) {
    const measured m = heaviest(program_of(text), more, work_bound::cost_of, false);
    exceeded += work_bound::cost_of(m.of_call) > most_cost(heap_bounds{}) ? 1 : 0;
  }
  EXPECT_GE(exceeded, 2u);
}

}  // namespace
