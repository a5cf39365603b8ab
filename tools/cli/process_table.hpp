// tools/cli/process_table.hpp: the heaps of several processes beside each other, at two moments.
// Layer: cli.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tools/cli/pool_statistics.hpp"
#include "tools/cli/text.hpp"

namespace ashlar::cli {

// What a process has, and how fast that changes. Allocations are a lower bound unless `exact`: the
// heap counts blocks where they leave it for a thread's cache.
struct process_row {
  pid_t pid = 0;
  std::string program;
  bool exact = false;
  std::uint64_t live_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t peak_bytes = 0;
  double growth_per_minute = 0;  // bytes
  double allocated_per_second = 0;
  double calls_per_second = 0;
};

// Returns: the row of a process at the moment `now`. `before` is the same process `seconds` ago.
process_row row_between(const pool_statistics& before, const pool_statistics& now, double seconds);

// Effects: the largest first. Requires: the column is live, resident, growth, rate or peak.
void sort_rows(std::vector<process_row>& rows, std::string_view column);

// Returns: a table whose lines have at most `columns` columns, with at most `lines` lines.
// `silent`: how many processes did not answer.
std::string render_rows(const std::vector<process_row>& rows, std::size_t silent,
                        std::size_t columns, std::size_t lines, glyphs set);
nlohmann::json rows_json(const std::vector<process_row>& rows, std::size_t silent);

}  // namespace ashlar::cli
