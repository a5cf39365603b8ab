// tools/agent/metrics_text.hpp: the figures of all processes as Prometheus and OpenMetrics read
// them. Layer: agent. docs/cli.md tells of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tools/agent/fleet.hpp"

namespace ashlar::agent {

enum class metrics_format { prometheus, openmetrics };

// Returns: which of the two an HTTP Accept header likes more; Prometheus's where it says nothing.
[[nodiscard]] metrics_format preferred_format(std::string_view accept);
[[nodiscard]] const char* content_type(metrics_format format);

// Returns: the value of a label, as both formats write it between its quotes.
[[nodiscard]] std::string escaped_label(std::string_view value);

// What came of profiles that were pushed.
struct push_counts {
  std::uint64_t pushed = 0;
  std::uint64_t dropped = 0;  // there was no room for them any more, or the collector refused them
  std::size_t waiting_bytes = 0;
  bool is_failing = false, is_refusing = false;  // the last time
};

// `pushed`: null where nothing is pushed.
[[nodiscard]] std::string metrics_text(const fleet_look& of, metrics_format format,
                                       const push_counts* pushed = nullptr);

}  // namespace ashlar::agent
