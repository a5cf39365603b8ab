#include <tests/model/pools.hpp>

std::vector<model::kind> model::pool_kinds() { return pools::all(); }
