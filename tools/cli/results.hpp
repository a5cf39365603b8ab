// tools/cli/results.hpp: what was found, for code hosts, CI and editors. Layer: cli.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

struct result {
  std::string rule;     // as "leak"
  std::string level;    // "error", "warning" or "note"
  std::string message;  // a sentence
  std::string source;   // "file:line"; empty: unknown
};

// A figure of one run that is the better the smaller it is.
struct benchmark_value {
  std::string name;
  std::string unit;
  double value = 0;
};

inline constexpr const char* results_help =
    "What was found for other readers, on standard output or into FILE: sarif (SARIF 2.1.0: code "
    "hosts, editors), junit (JUnit XML: CI) or github (annotations)";

// Effects: where `format` is the FORMAT[=FILE] of --for, it becomes the format alone, and `path` the
// file; "-" without one. Throws: command_error where there is no such format, or --json is there, too.
void take_format(std::string& format, std::string& path, bool has_benchmark = false);

// Returns: the option that named the path.
inline const char* option_of_path(const std::string& format) {
  return format.empty() ? "--json" : "--for";
}

// Returns: the results in that format. `command` ("check") names the tests of JUnit. A file below the
// current folder is named from there, as code hosts need it; any other one by its whole path.
std::string results_text(const std::string& format, const std::string& command,
                         const std::vector<result>& results);
// Returns: the array that github-action-benchmark reads as customSmallerIsBetter.
std::string benchmark_text(const std::vector<benchmark_value>& values);

}  // namespace ashlar::cli
