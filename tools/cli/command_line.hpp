// tools/cli/command_line.hpp: the words after `ashlar`, split between this tool and the program.
// Layer: cli.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

// `ashlar run OPTIONS -- PROGRAM ARGS` and `ashlar run OPTIONS PROGRAM ARGS` mean the same. A "--"
// behind the program's name is the program's own.
struct split_words {
  std::vector<std::string> own;  // up to the first "--", the program perhaps among them
  std::vector<std::string> behind;
  bool has_separator = false;
};

split_words split_at_separator(std::vector<std::string> words);

// Puts the program's command together from what the option parser left over and what stood behind
// the separator. Throws: command_error for an option that is none of `command_name`'s.
std::vector<std::string> program_words(const std::string& command_name,
                                       const std::vector<std::string>& left_over,
                                       const split_words& words);

}  // namespace ashlar::cli
