// tools/agent/otlp_profile.hpp: a process's live blocks as OpenTelemetry reads them. Layer: agent.
//
// The message is ExportProfilesServiceRequest of opentelemetry-proto 1.10.0, whose profiles are in
// development (v1development): the next version may read it no more.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "tools/agent/fleet.hpp"

namespace ashlar::agent {

// The time that a profile stands for.
struct time_span {
  std::chrono::system_clock::time_point begin, end;
};

// Returns: the message: live bytes and live blocks by call stack, each as one profile of a resource
// that has the process's service, version, number and name. What was allocated since the start is
// left out: readers add profiles up. `profile` is of pprof's format. Throws: trace::damaged_profile.
[[nodiscard]] std::string otlp_request(std::string_view profile, const process_figures& of,
                                       time_span when);

}  // namespace ashlar::agent
