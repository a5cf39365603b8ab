// Arenas of every kind in random programs, against a list of blocks (tests/model/arenas.hpp).
#include <tests/model/arenas.hpp>
#include <tests/support/test_headers.hpp>

TEST(AnyArena, RandomProgramsAgreeWithTheModel) {
  model::try_out(model::arenas::all(), support::times(200u));
}
