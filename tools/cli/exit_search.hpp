// tools/cli/exit_search.hpp: what no pointer of a process leads to when it exits. Layer: cli.
#pragma once

#include <string>

#include "tools/trace/file_recorder.hpp"

namespace ashlar::cli {

// Returns: that of a process whose trace up to now is in `trace`.
[[nodiscard]] trace::exit_look search_at_exit(const trace::exiting_process& process,
                                              const std::string& trace,
                                              const std::function<void()>& sign) noexcept;

}  // namespace ashlar::cli
