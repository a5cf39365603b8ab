// tools/cli/tune_command.hpp: `ashlar tune`: traces in, a header of pools and its certificate out. Layer: cli.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/tune/traced_workload.hpp"

namespace ashlar::cli {

struct tune_options {
  std::vector<std::string> traces;
  std::string classes = "auto";  // or a number
  std::string mode = "static";   // or heap
  std::string weigh = "both";
  std::uint64_t margin_percent = 0;
  std::optional<std::uint64_t> budget_bytes;
  std::uint64_t alignment = 16;
  std::optional<std::uint64_t> largest;
  bool borrow = false;
  bool rules = false;
  std::string header_path;       // empty: none
  std::string certificate_path;  // empty: beside the header, with .json
  std::string space = "tuned";
};

// Effects: says on standard error what a trace lacks.
void warn_of(const std::vector<tune::trace_identity>& traces);

// Effects: prints the classes on standard output; writes the files whole or not at all. Returns: the exit status. Throws:
// command_error; what tools/trace and tools/tune throw.
int tune_command(const tune_options& options);

}  // namespace ashlar::cli
