#include <tests/model/arenas.hpp>

std::vector<model::kind> model::arena_kinds() { return arenas::all(); }
