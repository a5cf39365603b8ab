// tools/inspect/call_modules.hpp: the program and the libraries of a process, for the names of its
// calls (trace::call_names). Layer: inspect.
#pragma once

#include <vector>

#include "tools/image/memory_image.hpp"
#include "tools/trace/format.hpp"

namespace ashlar::inspect {

/// Returns: where each file was mapped, with the build id that it had then.
[[nodiscard]] std::vector<trace::module_definition> call_modules(const image::memory_image& image);

}  // namespace ashlar::inspect
