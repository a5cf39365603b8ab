// tools/cli/compare_command.hpp: `ashlar compare`: one program on several allocators, runs
// interleaved. Layer: cli.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace ashlar::cli {

struct compare_options {
  std::vector<std::string> command;
  std::size_t rounds = 5;
  std::size_t warmup = 1;
  std::vector<std::string> with;  // NAME=LIBRARY
  std::vector<std::string> only;  // names; empty: all that are found
  std::optional<std::uint64_t> seed;
  std::string label;  // empty: the program's file name
  std::string json_path;
  std::string csv_path;
  bool show_output = false;
  bool list_only = false;  // list_allocators() instead
};

// The order of one round: 0 .. count-1 shuffled. The same generator state gives the same order with
// every standard library.
std::vector<std::size_t> shuffled_order(std::size_t count, std::mt19937_64& generator);

// Effects: prints progress on standard error and the table on standard output. Returns: 0; 1 when a
// run failed; 128 + n when signal n ended it early. Throws: command_error.
int compare_command(const compare_options& options);

// Prints "name<TAB>library" of each allocator that compare would use. Throws: command_error.
int list_allocators(const std::vector<std::string>& with);

// `ashlar summary`: one table of several --json files of compare. Throws: command_error.
int summary_command(const std::vector<std::string>& paths);

}  // namespace ashlar::cli
