// tools/tune/pools_header.hpp: the chosen classes as a C++ header. Layer: tune.
#pragma once

#include <string>
#include <vector>

#include "tools/tune/certificate.hpp"

namespace ashlar::tune {

/// Whether a header can have a namespace of this name: identifiers, between them "::".
[[nodiscard]] bool is_namespace_name(const std::string& name);

/// Returns: a header with a static_pool_set and a pool_set of the classes in `space`, their figures as constants, and
/// static_asserts that sizes are what was counted with. Requires: is_namespace_name(space).
[[nodiscard]] std::string pools_header(const certified_tuning& made, const std::string& space);

}  // namespace ashlar::tune
