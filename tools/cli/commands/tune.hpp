// tools/cli/commands/tune.hpp: the two modes of `ashlar tune`. tune.cpp reads the words, each mode
// has a file of its own. Layer: cli.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/tune/inputs.hpp"

namespace ashlar::cli {

// The options of both modes.
struct tune_options {
  std::vector<std::string> inputs;
  std::string classes = "auto";  // or a number
  std::string header_path;       // empty: none
  std::string certificate_path;  // empty: of pools beside the header, with .json; of a heap none
};

// The options of --mode static alone.
struct pool_options {
  std::uint64_t margin_percent = 0;
  std::optional<std::uint64_t> budget_bytes;
  std::uint64_t alignment = 16;
  std::optional<std::uint64_t> largest;
  std::string resolution;  // empty: exact, unless a profile is among the inputs
  std::string space = "tuned";
};

// The options of --mode heap alone.
struct heap_options {
  std::string weigh = "both";
};

// Effects: prints the classes of pools on standard output; writes a header and its certificate,
// whole or not at all. Returns: the exit status. Throws: command_error; what tools/trace and
// tools/tune throw.
int tune_pools(const tune_options& options, const pool_options& pools);

// Effects: prints the slack before and after on standard output; writes the process heap's classes,
// whole or not at all. Returns and throws: the same.
int tune_heap(const tune_options& options, const heap_options& heap);

// Effects: says on standard error what an input lacks.
void warn_of(const std::vector<tune::input_identity>& inputs);
// The same but for what was left out on purpose.
void warn_of_missing(const tune::input_identity& input);

}  // namespace ashlar::cli
