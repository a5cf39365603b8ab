#include <tests/model/sets.hpp>

std::vector<model::kind> model::set_kinds() {
  return sets::all();
}
