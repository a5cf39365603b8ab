// Instructions of a call: the costs of steps are right, and no call takes more than heap_bounds says.
#include <tests/support/test_headers.hpp>
#include <tests/work_bound/measure.hpp>
#include <tests/work_bound/worst.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::work_bound;
using detail::step;

static_assert(heap_bounds{}.most_instructions() <= 20'000);

/// A program with a call that does one kind of step more than others, when it may spend what it wants.
struct cost_case {
  const char* name;
  step kind;
  const char* text;
  std::size_t stash_bytes;
};
constexpr std::size_t no_stash = heap_bounds::stash_bytes_min;
constexpr cost_case cost_cases[] = {
    {"scattered", step::stretch_sorted, "0 64 8192 1 0; 3 64 8192 1 0;", no_stash},
    {"ordered", step::block_sorted, "0 64 8192 1 0; 1 64 8192 1 0;", no_stash},
    {"slabs that leave", step::slab_left, "0 16384 1500 1 0; 3 16384 1500 1 0; 0 20480 400 1 0;",
     4u << 20},
    {"blocks taken", step::block_taken, "0 64 8192 1 0;", no_stash},
    {"slabs taken from", step::slab_taken_from,
     "0 1024 8192 1 0; 0 1024 8192 1 0; 1 1024 200 64 0; 0 1024 200 1 0;", no_stash},
    {"classes summed up", step::class_summed, "0 64 8192 1 0; 0 64 8192 1 0; 0 1024 8192 1 0;",
     no_stash},
    {"pages looked at", step::page_looked_at,
     "0 14336 1400 1 0; 1 14336 700 2 0; 6 1 1000 1 0; 0 128 1 1 0; 6 1 1000 1 0; 0 256 1 1 0;",
     no_stash},
    {"single pages looked at", step::page_looked_at,
     "0 4096 4096 1 0; 1 4096 2000 2 0; 6 1 1000 1 0; 0 128 1 1 0; 6 1 1000 1 0; 0 256 1 1 0;",
     no_stash},
    {"runs purged", step::run_purged,
     "4 131072 200 3 0; 4 131072 50 2 0; 4 131072 50 2 0; 6 1 3000 1 0; 0 128 1 1 0; "
     "6 1 3000 1 0; 0 256 1 1 0;",
     no_stash},
    {"runs passed", step::run_passed,
     "4 131072 200 3 0; 4 262144 200 3 0; 6 1 3000 1 0; 0 128 1 1 0; 6 1 3000 1 0; 0 256 1 1 0;",
     no_stash},
};

/// What a miss takes beside its steps, at most: most_instructions has the same terms.
std::size_t fixed_part(const heap_bounds& b) {
  return b.most_instructions() - b.instructions_a_call - detail::dearest_step;
}

TEST(StepCosts, AStepTakesNoMoreThanItsCostAndNotLessThanHalf) {
  test::be_ready_to_step();
  for (const cost_case& of : cost_cases) {
    heap_bounds bounds;
    bounds.instructions_a_call = SIZE_MAX;
    bounds.stash_bytes = of.stash_bytes;
    const auto kind = static_cast<std::size_t>(of.kind);
    const measured m =
        heaviest(program_of(of.text), bounds, [kind](const step_counts& t) { return t[kind]; });
    const std::size_t model = work_bound::cost_of(m.of_call);
    EXPECT_GE(m.of_call[kind] * detail::cost_of(of.kind) * 3, model) << of.name << " must show";
    EXPECT_LE(m.instructions, model + fixed_part(heap_bounds{})) << of.name;
    EXPECT_GE(m.instructions * 2, model) << of.name;
  }
}

void expect_bounded(const heap_bounds& bounds) {
  test::be_ready_to_step();
  std::uint64_t most = 0;
  for (const char* text : worst_programs) {
    const measured m = heaviest(program_of(text), bounds, work_bound::cost_of);
    EXPECT_LE(m.instructions, bounds.most_instructions()) << text << "call " << m.call;
    most = std::max(most, m.instructions);
  }
  EXPECT_GE(most * 4, bounds.most_instructions()) << "the formula says much too much";
  testing::Test::RecordProperty("most", static_cast<int>(most));
}

TEST(WorkBound, NoCallOfTheWorstProgramsTakesMoreThanTheFormulaSays) {
  expect_bounded(heap_bounds{});
}
TEST(WorkBound, NorWithTheBoundsForLowLatency) { expect_bounded(heap_bounds::low_latency()); }

}  // namespace
