// Pools, sets of pools and lists of every kind in random programs, against tests/model.
#include <tests/model/pools.hpp>
#include <tests/model/sets.hpp>
#include <tests/support/test_headers.hpp>

TEST(AnyPool, RandomProgramsAgreeWithTheModel) {
  model::try_out(model::pools::all(), support::times(150u));
}

TEST(AnySet, RandomProgramsAgreeWithTheModel) {
  model::try_out(model::sets::all(), support::times(150u));
}
