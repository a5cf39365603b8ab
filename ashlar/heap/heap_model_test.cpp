// Random programs on a whole heap against a model of its blocks (tests/model), also while system
// calls fail: each in turn.
#include <tests/model/engine.hpp>
#include <tests/support/test_headers.hpp>

namespace {

using engine = model::engine_face<ashlar::detail::standard>;
using subject = model::subject_of<engine>;

void run(subject& heap, model::sequence& operations, int steps) {
  constexpr int stretch = 50;
  for (; steps > 0; steps -= stretch) {
    heap.run(0, operations, stretch);
    heap.face().rarely(model::draw(operations.next()));
  }
}

// What breaks is thrown (model::broken).
TEST(Heap, RandomProgramsAgreeWithTheModel) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    // Seed 4: a first range of 1 MiB, so that most blocks are found by the slow way.
    const auto plan = [](engine::heap& h, std::uint64_t number) {
      if (number == 4) h.space().set_limit(4 << 20);
      h.set_purge_policy({.delay_ms = number == 2 ? 0 : 500, .keep_bytes = 0});
    };
    subject heap("heap", 1, model::draw(seed), plan, seed);
    model::sequence operations(seed, 0);
    for (int phase = 0; phase < 6; ++phase) {
      run(heap, operations, 4'000);
      heap.audit();
    }
    heap.end();
  }
}

template <bool AllAfter>
void let_each_system_call_fail() {
  for (std::uint64_t n = 1;; n += support::step(7u)) {
    SCOPED_TRACE(testing::Message() << "call " << n << (AllAfter ? " and later" : ""));
    const auto plan = [](engine::heap& h, std::uint64_t number) {
      h.space().set_limit(4 << 20);  // the first range: 1 MiB, so that more are added
      h.set_purge_policy({.delay_ms = 100, .keep_bytes = 0});
      AllAfter ? h.space().fail_from(number) : h.space().fail_nth(number);
    };
    subject heap("heap", 1, model::draw(n), plan, n);
    model::sequence operations(9, 0);
    run(heap, operations, 400);
    const bool ran_out = heap.face().space().calls() < n;
    heap.audit();
    heap.face().space().fail_nth(0);
    run(heap, operations, 300);
    std::size_t blocks = 0;
    heap.each_block([&](const model::block&) { ++blocks; });
    ASSERT_GT(blocks, 0u) << "nothing works any more";
    heap.end();
    if (ran_out) break;
  }
}
TEST(HeapRefusals, EverySystemCallMayFail) {
  let_each_system_call_fail<false>();
  let_each_system_call_fail<true>();
}

}  // namespace
