// tools/cli/command_description.hpp: what a command line may say, as data. Manual pages and the
// completions of shells are written from it. Layer: cli.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

// An option, or an argument, which has no name.
struct option_description {
  std::vector<std::string> names;    // "-o", "--output"
  std::string value_name;            // "FILE"; empty: it has no value
  std::vector<std::string> choices;  // the words that the value may be; empty: others, too
  std::string help;
  bool value_is_optional = false;  // "--stacks" or "--stacks=8"
  bool is_repeated = false;        // an argument of which there may be several
};

struct command_description {
  std::string name;     // "run"
  std::string summary;  // its line in the list of commands
  std::string usage;    // "ashlar run [OPTIONS] ...", perhaps several lines
  std::string footer;   // paragraphs: free text, "Examples:", "Environment:", "Exit status:"
  std::vector<option_description> options;
  std::vector<option_description> arguments;
  bool is_part = false;        // "tune-verify": it is in no list of commands
  bool takes_program = false;  // what follows the options is a program and its words
};

struct tool_description {
  command_description tool;  // its options are those of `ashlar` without a command
  std::vector<command_description> commands;
};

}  // namespace ashlar::cli
