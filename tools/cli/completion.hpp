// tools/cli/completion.hpp: how a shell completes the command's lines. Layer: cli.
//
// A shell's script asks `ashlar __complete WORD...` with the words behind "ashlar" as typed so far, of
// which the last is not complete. Behind "--" a program completes its own line, where the shell knows
// how.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/command_parser.hpp"

namespace ashlar::cli {

// Returns: a line that says what may follow, and a line for each word that may, with a tab and its
// help. The first line is `words`, `files` (words or a file) or `program N` (words N and on are a
// program and its own words).
std::string completions(const tool_description& all, const std::vector<std::string>& words);

// Returns: the script for bash, zsh or fish, to be read by `source`, or installed as
// bash-completion/completions/ashlar, site-functions/_ashlar or vendor_completions.d/ashlar.fish.
std::string_view completion_script(std::string_view shell);

}  // namespace ashlar::cli
