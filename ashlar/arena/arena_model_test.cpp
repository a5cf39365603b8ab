// Random programs over every kind of arena (tests/model/arenas.hpp), against a model that is a list
// of blocks.
#include <tests/model/arenas.hpp>
#include <tests/support/test_headers.hpp>

namespace {

TEST(AnyArena, RandomProgramsAgreeWithTheModel) {
  model::try_out(model::arenas::all(), support::times(200u));
}

}  // namespace
