// nothing/ashlar/core/memory_tools.hpp: what ashlar/core/memory_tools.hpp is without any tool: nothing at all.
// Found first on the include path by tests/tools_absent. Macros, so that not even an argument is evaluated.
#pragma once

#include <cstddef>

#include <ashlar/core/config.hpp>

namespace ashlar::detail {
inline constexpr bool tools_present = false;
inline constexpr std::size_t tool_granule = 8;
inline constexpr bool told = true;
}  // namespace ashlar::detail

#define tell_closed(...) told
#define tell_open(...) told
#define tell_looking(...) told
#define tell_looked(...) told
#define tell_made(...) told
#define tell_freed(...) told
#define tell_resized(...) told
#define tell_cut(...) told
#define tell_moved(...) told
#define tell_ended(...) told
#define tell_returned(...) told
