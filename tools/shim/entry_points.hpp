// tools/shim/entry_points.hpp: every function that is recorded, by name. Layer: shim.
#pragma once

#include <span>

#include "tools/shim/import_slots.hpp"

namespace ashlar::shim {

[[nodiscard]] std::span<diverted_function> entry_points();

}  // namespace ashlar::shim
