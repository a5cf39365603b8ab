// tools/measure/known_allocators.hpp: the other drop-in allocators that `ashlar compare` and
// `ashlar replay` look for. Layer: measure.
//
// bench/peers/peers.json lists them, for the benchmarks too; the build makes the table of it.
#pragma once

#include <span>
#include <string_view>

namespace ashlar::measure {

struct known_allocator {
  std::string_view name;
  std::span<const std::string_view> libraries;  // file names; the first that is found is taken
};

std::span<const known_allocator> known_allocators();

}  // namespace ashlar::measure
