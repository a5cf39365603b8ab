// tools/cli/pool_statistics.hpp: the statistics that the drop-in library leaves behind, read from
// its JSON form (docs/statistics.md). Layer: cli.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <sys/types.h>

#include <ashlar/core/stats.h>

namespace ashlar::cli {

using class_figures = ::ashlar_class_stats;  // block_size 0: large blocks
using total_figures = ::ashlar_total_stats;

struct pool_statistics {
  std::string version;
  bool exact = false;
  pid_t pid = 0;
  std::string command;
  total_figures total{};
  class_figures large{};
  std::vector<class_figures> classes;  // by block size, only used ones
  nlohmann::json document;             // as the library wrote it
};

// Throws: command_error that says what is wrong with the text; `origin` names it.
pool_statistics parse_pool_statistics(const std::string& text, const std::string& origin);

// The same of the bytes of an ashlar_stats, which a process of this machine left when a signal ended
// it (tools/signals).
pool_statistics pool_statistics_of(const std::string& bytes, pid_t pid, const std::string& command,
                                   const std::string& origin);

}  // namespace ashlar::cli
