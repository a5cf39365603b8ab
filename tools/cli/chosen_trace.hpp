// tools/cli/chosen_trace.hpp: the trace that a command is to read, where it was given the folder of
// a recording. Layer: cli.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/recording_index.hpp"
#include "tools/cli/text.hpp"

namespace ashlar::cli {

struct chosen_trace {
  std::string path;  // of the trace
  std::string folder;
  std::optional<recording_index> tree;  // none: the command was given the trace itself
  std::size_t place = 0;                // of the process, in the tree

  [[nodiscard]] const recorded_process& process() const { return tree->processes[place]; }
};

// Returns: `path`, or of a folder the trace of a process: that which `process` names (its number, or
// its program), else that which had most in memory. Of several that have the name, the one that
// had most. Effects: says on standard error which it is, and what the folder lacks. Throws:
// input_error, trace_error.
[[nodiscard]] chosen_trace choose_trace(const std::string& path, const std::string& process);

// Returns: the places of the tree's processes, those that had most in memory first, those without a trace
// last. Where processes of one program had more together than the first one has, one of these is first.
[[nodiscard]] std::vector<std::size_t> places_by_memory(const recording_index& tree);

// "nginx (12 processes, 160.0 MiB)": the name of the first process; where several have it, what they had
// together then.
[[nodiscard]] std::string like_first(const recording_index& tree);

// The totals over the tree, and a table of at most `rows` processes: those that had most.
[[nodiscard]] std::string render_tree(const recording_index& tree, const std::string& folder,
                                      std::size_t rows);

// What --process says in the help of commands.
inline constexpr const char* process_help =
    "Of a folder: this process, by its number or program (default: the one that had most memory)";

}  // namespace ashlar::cli
