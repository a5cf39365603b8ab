// tools/cli/pin_report.hpp: which pages few bytes keep, as text and as the page's data. Layer: cli.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/findings/pins.hpp"

namespace ashlar::cli {

// A trace's times, of which the pins say when.
struct trace_times {
  std::uint64_t first = 0;
  std::uint64_t ticks_per_second = 1;
};

// Returns: some lines; empty where less than 1 MiB is pinned. `rows`: lines of the program at most.
// Requires: here and below, pins.findings() was called.
std::string render_pins(const findings::pin_finder& pins, const trace_times& times,
                        std::size_t rows);

// Returns: the moment, its lines and call tree, and the picture of the pages over time; null where
// less than 1 MiB is ever pinned.
nlohmann::json pins_json(const findings::pin_finder& pins, const trace_times& times,
                         const std::vector<trace::stack_definition>& stacks,
                         const findings::names_of_stack& names_of);

}  // namespace ashlar::cli
