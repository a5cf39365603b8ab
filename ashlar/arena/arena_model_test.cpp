// Random programs over every kind of arena (tests/model/arenas.hpp), against a model that is a list
// of blocks.
#include <tests/model/arenas.hpp>
#include <tests/support/extent.hpp>

#include <gtest/gtest.h>

namespace {

// What breaks is thrown (model::broken).
TEST(AnyArena, RandomProgramsAgreeWithTheModel) {
  for (const model::kind& kind : model::arenas::all()) {
    for (std::uint64_t seed = 0; seed < support::times(200u); ++seed) {
      SCOPED_TRACE(testing::Message() << kind.name << ", seed " << seed);
      model::sequence operations(seed, 0);
      const auto arena = kind.make(kind.name, 1, model::draw(operations.next()));
      for (int stretch = 0; stretch < 15; ++stretch) {
        arena->run(0, operations, 20);
        arena->audit();
      }
      arena->end();
    }
  }
}

}  // namespace
