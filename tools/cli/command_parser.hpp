// tools/cli/command_parser.hpp: the words of a command line: which commands there are, what their
// options are called and fill, and what is done then. Layer: cli.
//
// Only command_parser.cpp includes the library that parses, CLI11, which takes longer to compile
// than a command does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ashlar::cli {

// ---- what a command line may say, as data: manual pages and completions are written from it

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

// ---- the line

// `ashlar run OPTIONS -- PROGRAM ARGS` and `ashlar run OPTIONS PROGRAM ARGS` mean the same. A "--"
// behind the program's name is the program's own.
struct split_words {
  std::vector<std::string> own;  // up to the first "--", the program perhaps among them
  std::vector<std::string> behind;
  bool has_separator = false;
};

split_words split_at_separator(std::vector<std::string> words);

// Puts the program's command together from what the option parser left over and what stood behind
// the separator. Throws: command_error where there is none.
std::vector<std::string> program_words(const std::string& command_name,
                                       const std::vector<std::string>& left_over,
                                       const split_words& words);

// How the tool ends.
struct command_end {
  int exit_status = 0;
  std::optional<int> wait_status;  // of a program: the tool ends as that did
};

struct command_text {
  const char* name;     // "tune-verify" is `ashlar tune verify`, and in no list of commands
  const char* summary;  // its line in the list of commands
  const char* usage;    // the words behind the name
  const char* footer;   // of its --help: examples, exit status
};

// An option or argument that a command has; each function says what else holds of it.
class option {
 public:
  explicit option(CLI::Option& added) : added_(&added) {}
  option required();
  option within(int least, int most);
  option in_bytes();             // 64KiB, say
  option separated_by_commas();  // several values in a word
  option excludes(const option& other);

 private:
  CLI::Option* added_;
};

// One of the commands. What its words fill has to live as long as the parser; what stands there
// before is the default.
class command {
 public:
  command(CLI::App& parser, const split_words& line, const command_text& text)
      : parser_(parser), line_(line), text_(text) {}
  command(const command&) = delete;
  command& operator=(const command&) = delete;

  // Words without a name, which must not be missing. One with a name like "bash|zsh" is one of these.
  // Of a file it may be "-", for standard input, which the command then sees as a file of its own.
  option argument(const char* name, std::string& into, const char* help);
  option arguments(const char* name, std::vector<std::string>& into, const char* help);
  // The same, which may.
  option further_argument(const char* name, std::string& into, const char* help,
                          bool is_file = true);
  option further_arguments(const char* name, std::vector<std::string>& into, const char* help,
                           bool are_files = true);

  // Words behind a name, called `value_name` in the help. A list has a value each time that the
  // option is given. A text of a `value_name` like "static|heap" is one of these words.
  option value(const char* names, const char* value_name, std::string& into, const char* help);
  option value(const char* names, const char* value_name, std::uint32_t& into, const char* help);
  option value(const char* names, const char* value_name, std::uint64_t& into, const char* help);
  option value(const char* names, const char* value_name, std::optional<std::uint64_t>& into,
               const char* help);
  option value(const char* names, const char* value_name, std::vector<std::string>& into,
               const char* help);
  // What is read ("-": standard input), and what is written ("-": standard output). Who writes has
  // --force, too.
  option file(const char* names, std::string& into, const char* help);
  option output_file(const char* names, std::string& into, const char* help);
  option output(std::string& into, const char* help);
  // --json[=FILE]; alone it is "-".
  option json(std::string& into, const char* help);

  option flag(const char* name, bool& into, const char* help);
  // `--name` is `--name=implied`; 0 where it is not given. `--name 5` is `--name=5`.
  option flag_with_value(const char* name, const char* value_name, std::uint32_t implied,
                         std::uint32_t& into, const char* help);

  // What follows the options is a program and its words; "--" may divide them.
  void takes_program();
  // Returns: these. Requires: the line is read. Throws: command_error where there are none, or
  // begin with an option.
  [[nodiscard]] std::vector<std::string> program() const;
  [[nodiscard]] bool has_program() const;

  // What the command does. `work` returns the exit status, or, second form, the wait status of the
  // program that it ran.
  void does(std::function<int()> work);
  void does_as_program(std::function<int()> work);
  // Third form: either of the two.
  void ends(std::function<command_end()> work);

  // Effects: makes `--name 5` one word, where that is an option of this command and not a word of the
  // program's. Throws: command_error for `--json FILE.json`.
  void join_values(std::vector<std::string>& words) const;

  [[nodiscard]] bool is_named() const;  // by the line
  [[nodiscard]] command_end run() const;
  [[nodiscard]] command_description description() const;

 private:
  void has_force();

  CLI::App& parser_;
  const split_words& line_;
  command_text text_;
  std::function<command_end()> work_;
  std::vector<std::string> with_number_;  // flag_with_value's
  std::vector<std::string*> inputs_;      // files that are read
  std::vector<std::vector<std::string>*> input_lists_;
};

class command_parser {
 public:
  explicit command_parser(const command_text& tool);
  ~command_parser();
  command_parser(const command_parser&) = delete;
  command_parser& operator=(const command_parser&) = delete;

  // The commands are listed in groups, in the order in which they are added. The reference is good as
  // long as the parser.
  void begin_group(const char* name) { group_ = name; }
  command& add(const command_text& text);

  // Effects: does what the words behind the tool's name say; prints the help where they ask for it
  // or name no command. Throws: command_error, of status_usage where a word cannot be; what the
  // command throws. Requires: called once.
  command_end run(std::vector<std::string> words);

  // Returns: the command line that explains what the last one did not know.
  [[nodiscard]] std::string help_command() const;

  // Returns: what `ashlar --help` prints, or `ashlar COMMAND --help`. Throws: command_error, of
  // status_usage for an unknown command.
  [[nodiscard]] std::string help() const;
  [[nodiscard]] std::string help(std::vector<std::string> command_words) const;
  // Returns: what its command lines may say. An argument COMMAND is the name of a command.
  [[nodiscard]] tool_description description() const;

 private:
  // Effects: `tune verify` becomes one word. Throws: command_error for a part that is spelled wrong.
  void resolve(std::vector<std::string>& words) const;
  [[nodiscard]] const CLI::App* find(const std::string& command_name) const;
  [[nodiscard]] std::string describe_extra_word() const;
  [[nodiscard]] std::string describe_unknown_command(const std::string& word) const;

  command_text text_;
  const char* group_ = "Commands";
  std::unique_ptr<CLI::App> app_;
  split_words line_;
  std::vector<std::unique_ptr<command>> commands_;
};

}  // namespace ashlar::cli
