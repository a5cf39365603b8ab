// tools/shim/entry_points.hpp: every function that is recorded, by name. Layer: shim.
#pragma once

#include <cstddef>

#include "tools/shim/import_slots.hpp"

namespace ashlar::shim {

extern constinit diverted_function entry_points[];
extern constinit const std::size_t entry_points_count;

}  // namespace ashlar::shim
