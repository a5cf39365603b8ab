// tools/cli/tune_command.hpp: `ashlar tune`: traces and profiles in, a header of pools and its certificate out. Layer: cli.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/tune/input_file.hpp"

namespace ashlar::cli {

struct tune_options {
  std::vector<std::string> inputs;
  std::string classes = "auto";  // or a number
  std::string mode = "static";   // or heap
  std::string weigh = "both";
  std::uint64_t margin_percent = 0;
  std::optional<std::uint64_t> budget_bytes;
  std::uint64_t alignment = 16;
  std::optional<std::uint64_t> largest;
  std::string resolution;  // empty: exact, unless a profile is among the inputs
  bool borrow = false;
  bool rules = false;
  std::string header_path;       // empty: none
  std::string certificate_path;  // empty: beside the header, with .json
  std::string space = "tuned";
};

// Effects: says on standard error what an input lacks.
void warn_of(const std::vector<tune::input_identity>& inputs);
// The same but for what was left out on purpose.
void warn_of_missing(const tune::input_identity& input);

// Effects: prints the classes on standard output; writes the files whole or not at all. Returns: the exit status. Throws:
// command_error; what tools/trace and tools/tune throw.
int tune_command(const tune_options& options);

}  // namespace ashlar::cli
