// tools/cli/command_line.cpp. Layer: cli.
#include "tools/cli/command_line.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "tools/cli/error.hpp"

namespace ashlar::cli {

split_words split_at_separator(std::vector<std::string> words) {
  split_words split;
  const auto separator = std::find(words.begin(), words.end(), "--");
  split.has_separator = separator != words.end();
  split.own.assign(words.begin(), separator);
  if (split.has_separator) split.behind.assign(std::next(separator), words.end());
  return split;
}

std::vector<std::string> program_words(const std::string& command_name,
                                       const std::vector<std::string>& left_over,
                                       const split_words& words) {
  if (!left_over.empty() && left_over.front().starts_with('-')) {
    throw command_error(status_usage,
                        fmt::format("{}: unknown option '{}'", command_name, left_over.front()));
  }
  std::vector<std::string> program = left_over;
  if (!program.empty() && words.has_separator) program.emplace_back("--");
  program.insert(program.end(), words.behind.begin(), words.behind.end());
  if (program.empty() || program.front().empty()) {
    throw command_error(status_usage,
                        fmt::format("{}: which program? As in: ashlar {} -- PROGRAM ARGUMENTS",
                                    command_name, command_name));
  }
  return program;
}

}  // namespace ashlar::cli
