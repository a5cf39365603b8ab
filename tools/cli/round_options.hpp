// tools/cli/round_options.hpp: the options of what is run in rounds, on several allocators: how many, in which order.
// Layer: cli.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tools/cli/command_parser.hpp"

namespace ashlar::cli {

inline constexpr int most_rounds = 100'000;

inline void add_rounds(command& to, std::size_t& rounds, const char* help) {
  to.value("-n,--runs", "RUNS", rounds, help).within(1, most_rounds);
}

inline void add_seed(command& to, std::optional<std::uint64_t>& seed, const char* help) {
  to.value("--seed", "N", seed, help);
}

}  // namespace ashlar::cli
