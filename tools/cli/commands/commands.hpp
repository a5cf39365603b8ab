// tools/cli/commands/commands.hpp: all commands. tools/cli/commands/X.cpp has the words of
// `ashlar X`, its help and its work. Layer: cli.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "tools/cli/command_parser.hpp"
#include "tools/files/replaced_files.hpp"

namespace ashlar::cli {

// Each tells the parser the words of a command, and what to do then.
void add_record(command_parser& to);
void add_report(command_parser& to);
void add_leaks(command_parser& to);
void add_diff(command_parser& to);
void add_check(command_parser& to);
void add_inspect(command_parser& to);
void add_ctl(command_parser& to);
void add_agent(command_parser& to);
void add_run(command_parser& to);
void add_compare(command_parser& to);
void add_replay(command_parser& to);
void add_tune(command_parser& to);
void add_tune_check(command_parser& to);
void add_tune_profile(command_parser& to);
void add_tune_verify(command_parser& to);
void add_export(command_parser& to);
void add_help(command_parser& to);

// All of them, in the order of the help: manual pages, completions and tests come from this list.
struct command_row {
  const char* group;
  void (*add)(command_parser&);
};
inline constexpr const char* find_group = "Find where memory goes";
inline constexpr const char* live_group = "Look at what runs";
inline constexpr const char* allocator_group = "Choose and measure allocators";
inline constexpr const char* other_group = "Other";
inline constexpr command_row all_commands[] = {{find_group, add_record},
                                               {find_group, add_report},
                                               {find_group, add_leaks},
                                               {find_group, add_diff},
                                               {find_group, add_check},
                                               {live_group, add_inspect},
                                               {live_group, add_ctl},
                                               {live_group, add_agent},
                                               {allocator_group, add_run},
                                               {allocator_group, add_compare},
                                               {allocator_group, add_replay},
                                               {allocator_group, add_tune},
                                               {allocator_group, add_tune_check},
                                               {allocator_group, add_tune_profile},
                                               {allocator_group, add_tune_verify},
                                               {other_group, add_export},
                                               {other_group, add_help}};
// What is compiled in a fifth of the time (the target ashlar_compare).
inline constexpr command_row compare_alone[] = {{allocator_group, add_compare},
                                                {other_group, add_help}};

// The options of commands that run in rounds, on several allocators.
inline constexpr int most_rounds = 100'000;

inline void add_rounds(command& to, std::size_t& rounds, const char* help) {
  to.value("-n,--runs", "RUNS", rounds, help).within(1, most_rounds);
}

inline void add_seed(command& to, std::optional<std::uint64_t>& seed, const char* help) {
  to.value("--seed", "N", seed, help);
}

// Effects: prints the text, unless one of the files is standard output. Not by fmt::print, which throws
// where the reader has gone: the files are written all the same.
inline void print_beside(const files::replaced_files& files, const std::string& text) {
  if (files.has_standard_output()) return;
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

// Effects: prints the text; writes the JSON where `option` asks for it (`path`).
template <class Json, class Text>
void print_report(const std::string& path, Json make_json, Text make_text,
                  const char* option = "--json") {
  files::replaced_files files;
  if (!path.empty()) {
    files.prepare(option, path);
    std::string json = make_json();
    if (option == std::string_view("--json")) json += '\n';  // what --for writes is whole
    files.commit({json});
  }
  if (path != "-") print_beside(files, make_text());
}

}  // namespace ashlar::cli
