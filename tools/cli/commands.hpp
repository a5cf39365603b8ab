// tools/cli/commands.hpp: the commands. X_options.cpp tells the parser the words of X, and that X_command() is its work.
// Layer: cli.
#pragma once

#include "tools/cli/command_parser.hpp"

namespace ashlar::cli {

void add_run(command_parser& to);
void add_record(command_parser& to);
void add_report(command_parser& to);
void add_stat(command_parser& to);
void add_dump(command_parser& to);
void add_compare(command_parser& to);
void add_summary(command_parser& to);
void add_profile(command_parser& to);
void add_merge(command_parser& to);
void add_tune(command_parser& to);
void add_replay(command_parser& to);
void add_verify(command_parser& to);
void add_check(command_parser& to);

}  // namespace ashlar::cli
