// tools/agent/metrics_text.hpp: the figures of all processes as Prometheus and OpenMetrics read
// them. Layer: agent. docs/cli.md lists them.
#pragma once

#include <string>
#include <string_view>

#include "tools/agent/fleet.hpp"

namespace ashlar::agent {

enum class metrics_format { prometheus, openmetrics };

// Returns: which of the two an HTTP Accept header likes more; Prometheus's where it says nothing.
[[nodiscard]] metrics_format preferred_format(std::string_view accept);
[[nodiscard]] const char* content_type(metrics_format format);

[[nodiscard]] std::string metrics_text(const fleet_look& of, metrics_format format);

}  // namespace ashlar::agent
