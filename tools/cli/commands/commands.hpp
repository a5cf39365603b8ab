// tools/cli/commands/commands.hpp: all commands. tools/cli/commands/X.cpp has the words of
// `ashlar X`, its help and its work. Layer: cli.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tools/cli/command_parser.hpp"

namespace ashlar::cli {

// Each tells the parser the words of a command, and what to do then. In the order of the help.
void add_run(command_parser& to);
void add_record(command_parser& to);
void add_report(command_parser& to);
void add_stat(command_parser& to);
void add_diff(command_parser& to);
void add_symbols(command_parser& to);
void add_export(command_parser& to);
void add_dump(command_parser& to);
void add_compare(command_parser& to);
void add_summary(command_parser& to);  // commands/compare.cpp
void add_profile(command_parser& to);
void add_merge(command_parser& to);  // commands/profile.cpp
void add_tune(command_parser& to);
void add_replay(command_parser& to);
void add_verify(command_parser& to);
void add_check(command_parser& to);
void add_leaks(command_parser& to);
void add_core(command_parser& to);
void add_inspect(command_parser& to);  // commands/core.cpp
void add_ctl(command_parser& to);
void add_top(command_parser& to);
void add_findings(command_parser& to);
void add_help(command_parser& to);
void add_completion(command_parser& to);  // commands/help.cpp

inline constexpr void (*all_commands[])(command_parser&) = {
    add_run,     add_record, add_report,  add_stat,     add_diff,    add_symbols,
    add_export,  add_dump,   add_compare, add_summary,  add_profile, add_merge,
    add_tune,    add_replay, add_verify,  add_check,    add_leaks,   add_core,
    add_inspect, add_ctl,    add_top,     add_findings, add_help,    add_completion};

// The options of commands that run in rounds, on several allocators.
inline constexpr int most_rounds = 100'000;

inline void add_rounds(command& to, std::size_t& rounds, const char* help) {
  to.value("-n,--runs", "RUNS", rounds, help).within(1, most_rounds);
}

inline void add_seed(command& to, std::optional<std::uint64_t>& seed, const char* help) {
  to.value("--seed", "N", seed, help);
}

}  // namespace ashlar::cli
