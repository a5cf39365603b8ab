// tools/cli/completion.hpp: the scripts by which a shell completes the command's lines. Layer: cli.
//
// Each offers the commands, then a command's options and the words that their values may be, else
// files. Behind "--" a program completes its own line, where the shell knows how.
#pragma once

#include <string>

#include "tools/cli/command_parser.hpp"

namespace ashlar::cli {

// For bash 4 and newer: to be read by `source`, or installed as bash-completion/completions/ashlar.
std::string bash_completion(const tool_description& all);
// For zsh: the same, or installed as site-functions/_ashlar.
std::string zsh_completion(const tool_description& all);
// For fish: the same, or installed as fish/vendor_completions.d/ashlar.fish.
std::string fish_completion(const tool_description& all);

}  // namespace ashlar::cli
