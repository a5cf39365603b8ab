// tools/cli/pool_report.hpp: a program's pools as a table. Layer: cli.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <ashlar/core/stats_fields.hpp>

#include "tools/cli/text.hpp"
#include "tools/measure/child_process.hpp"

namespace ashlar::cli {

// The statistics that the drop-in library leaves behind, read from
// its JSON form (docs/statistics.md).

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
  // Of the program's own, with their names.
  std::vector<std::pair<std::string, named_heap_stats>> heaps;
  std::vector<std::pair<std::string, tag_stats>> tags;
};

// Throws: command_error that says what is wrong with the text; `origin` names it.
pool_statistics parse_pool_statistics(const std::string& text, const std::string& origin);

// The same of the bytes of an ashlar_stats, which a process of this machine left when a signal ended
// it (tools/signals).
pool_statistics pool_statistics_of(const std::string& bytes, pid_t pid, const std::string& command,
                                   const std::string& origin);

enum class report_detail {
  summary,  // the classes that matter most and the totals that people ask for
  full,     // every class that was used, every field
};

// What the figures are of.
enum class report_moment { at_exit, now };

// How many classes a summary lists.
inline constexpr std::size_t summary_classes = 16;

// Returns: a line of what lives under a tag.
std::string render_tag(const tag_stats& tag);

// Returns: the table of classes and the totals, lines ended.
std::string render_pool_report(const pool_statistics& statistics, report_detail detail, glyphs set,
                               report_moment moment = report_moment::at_exit);

// "wall 1.234 s, user 1.100 s, system 0.050 s, peak RSS 189.3 MiB"
std::string render_process_figures(const measure::child_outcome& outcome);

}  // namespace ashlar::cli
