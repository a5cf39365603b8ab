// tools/cli/command_parser.cpp. Layer: cli.
#include "tools/cli/command_parser.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"

namespace ashlar::cli {

namespace {

// The library's own usage line would name a program's words SUBCOMMAND and leave "--" out.
class help_text : public CLI::Formatter {
 public:
  explicit help_text(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return fmt::format("Usage: {}\n", usage_);
  }

 private:
  std::string usage_;
};

template <class T>
CLI::Option& add_value(CLI::App& parser, const char* names, const char* value_name, T& into,
                       const char* help) {
  return *parser.add_option(names, into, help)->type_name(value_name);
}

// The library itself takes "-1", as 2^64 - 1.
template <class T>
CLI::Option& add_number(CLI::App& parser, const char* names, const char* value_name, T& into,
                        const char* help) {
  return *add_value(parser, names, value_name, into, help).check([](const std::string& text) {
    return parse_count(text) ? std::string{}
                             : fmt::format("'{}' is no whole number from 0 to 2^64 - 1", text);
  });
}

std::vector<std::string> choices_of(const std::string& value_name) {
  std::vector<std::string> choices;
  if (value_name.find('|') == std::string::npos) return choices;
  for (std::size_t from = 0; from <= value_name.size();) {
    const std::size_t to = std::min(value_name.find('|', from), value_name.size());
    choices.push_back(value_name.substr(from, to - from));
    from = to + 1;
  }
  return choices;
}

void require_choice(CLI::Option& option, const char* value_name) {
  const std::vector<std::string> choices = choices_of(value_name);
  if (choices.empty()) return;
  option.check([choices](const std::string& text) {
    return std::find(choices.begin(), choices.end(), text) != choices.end()
               ? std::string{}
               : fmt::format("'{}' is none of {}", text, fmt::join(choices, ", "));
  });
}

// Not by CLI::App::help, which prints the help of the command that the line names.
std::string help_of(const CLI::App& app) {
  return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
}

option_description description_of(const CLI::Option& option) {
  option_description made;
  for (const std::string& name : option.get_snames()) made.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) made.names.push_back("--" + name);
  const bool is_argument = made.names.empty();
  // A flag is an option that the library expects no value of.
  made.value_is_optional = !is_argument && option.get_items_expected_min() == 0;
  made.value_name = is_argument ? option.get_name(true) : option.get_type_name();
  made.choices = choices_of(made.value_name);
  made.help = option.get_description();
  made.is_repeated = is_argument && option.get_items_expected_max() > 1;
  return made;
}

command_description description_of(const CLI::App& app, const command_text& text,
                                   const std::string& words) {
  command_description made;
  made.name = text.name;
  made.summary = text.summary;
  made.usage = fmt::format("{} {}", words, text.usage);
  made.footer = text.footer;
  for (const CLI::Option* each : app.get_options()) {
    (each->nonpositional() ? made.options : made.arguments).push_back(description_of(*each));
  }
  made.takes_program = app.get_prefix_command();
  return made;
}

}  // namespace

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

option option::required() {
  added_->required();
  return *this;
}
option option::within(int least, int most) {
  added_->check(CLI::Range(least, most).description(""));
  return *this;
}
option option::in_bytes() {
  added_->transform(CLI::Validator(
      [](std::string& text) {
        const std::optional<std::uint64_t> bytes = parse_bytes(text);
        if (!bytes)
          return fmt::format("'{}' is no whole number of bytes below 2^64, as 4096 or 64KiB", text);
        text = std::to_string(*bytes);
        return std::string{};
      },
      ""));
  return *this;
}
option option::separated_by_commas() {
  added_->delimiter(',');
  return *this;
}
option option::excludes(const option& other) {
  added_->excludes(other.added_);
  return *this;
}

option command::argument(const char* name, std::string& into, const char* help) {
  return further_argument(name, into, help).required();
}
option command::arguments(const char* name, std::vector<std::string>& into, const char* help) {
  return further_arguments(name, into, help).required();
}
option command::further_argument(const char* name, std::string& into, const char* help) {
  CLI::Option& added = *parser_.add_option(name, into, help);
  require_choice(added, name);
  return option(added);
}
option command::further_arguments(const char* name, std::vector<std::string>& into,
                                  const char* help) {
  return option(*parser_.add_option(name, into, help));
}

option command::value(const char* names, const char* value_name, std::string& into,
                      const char* help) {
  CLI::Option& added = add_value(parser_, names, value_name, into, help);
  require_choice(added, value_name);
  return option(added);
}
option command::value(const char* names, const char* value_name, std::uint32_t& into,
                      const char* help) {
  return option(add_number(parser_, names, value_name, into, help));
}
option command::value(const char* names, const char* value_name, std::uint64_t& into,
                      const char* help) {
  return option(add_number(parser_, names, value_name, into, help));
}
option command::value(const char* names, const char* value_name, std::optional<std::uint64_t>& into,
                      const char* help) {
  return option(add_number(parser_, names, value_name, into, help));
}
option command::value(const char* names, const char* value_name, std::vector<std::string>& into,
                      const char* help) {
  // Otherwise it would take all the words behind it, a program's too.
  return option(*add_value(parser_, names, value_name, into, help).allow_extra_args(false));
}
option command::file(const char* names, std::string& into, const char* help) {
  return value(names, "FILE", into, help);
}
option command::output(std::string& into, const char* help) {
  return file("-o,--output", into, help);
}

option command::flag(const char* name, bool& into, const char* help) {
  return option(*parser_.add_flag(name, into, help));
}
option command::flag_with_value(const char* name, const char* value_name, std::uint32_t implied,
                                std::uint32_t& into, const char* help) {
  with_number_.emplace_back(name);
  return option(
      *parser_.add_flag(fmt::format("{}{{{}}}", name, implied), into, help)->type_name(value_name));
}

void command::join_numbers(std::vector<std::string>& words) const {
  if (words.empty() || words.front() != parser_.get_name()) return;
  for (std::size_t i = 1; i + 1 < words.size() && words[i].starts_with('-'); ++i) {
    const bool takes_number =
        std::find(with_number_.begin(), with_number_.end(), words[i]) != with_number_.end();
    if (takes_number && parse_count(words[i + 1])) {
      words[i] += "=" + words[i + 1];
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      continue;
    }
    const CLI::Option* const known = parser_.get_option_no_throw(words[i]);
    if (known != nullptr && known->get_items_expected_min() > 0) ++i;  // its value
  }
}

void command::takes_program() {
  parser_.prefix_command();
}

std::vector<std::string> command::program() const {
  return program_words(parser_.get_name(), parser_.remaining(), line_);
}

bool command::has_program() const {
  return !parser_.remaining().empty() || !line_.behind.empty();
}

void command::does(std::function<int()> work) {
  work_ = [work = std::move(work)] { return command_end{work(), {}}; };
}
void command::does_as_program(std::function<int()> work) {
  work_ = [work = std::move(work)] { return command_end{0, work()}; };
}
void command::ends(std::function<command_end()> work) {
  work_ = std::move(work);
}

bool command::is_named() const {
  return parser_.parsed();
}

command_end command::run() const {
  return work_();
}

command_description command::description() const {
  return description_of(parser_, text_,
                        fmt::format("{} {}", parser_.get_parent()->get_name(), text_.name));
}

command_parser::command_parser(const command_text& tool)
    : text_(tool), app_(std::make_unique<CLI::App>(tool.summary, tool.name)) {
  app_->set_version_flag("--version", fmt::format("{} {}", tool.name, ASHLAR_CLI_VERSION),
                         "Print the version and exit");
  app_->set_help_flag("-h,--help", "Print this help and exit");
  app_->require_subcommand(0, 1);  // a word behind a command is none, whatever it is called
  app_->footer(tool.footer);
  app_->formatter(std::make_shared<help_text>(fmt::format("{} {}", tool.name, tool.usage)));
}

command_parser::~command_parser() = default;

command& command_parser::add(const command_text& text) {
  CLI::App& added = *app_->add_subcommand(text.name, text.summary);
  added.group("Commands");
  added.footer(text.footer);
  added.formatter(std::make_shared<help_text>(
      fmt::format("{} {} {}", app_->get_name(), text.name, text.usage)));
  return *commands_.emplace_back(std::make_unique<command>(added, line_, text));
}

command_end command_parser::run(std::vector<std::string> words) {
  line_ = split_at_separator(std::move(words));
  for (const auto& each : commands_) each->join_numbers(line_.own);
  try {
    // The library takes the words in reverse.
    app_->parse(std::vector<std::string>(line_.own.rbegin(), line_.own.rend()));
  } catch (const CLI::Success& wanted) {  // --help, --version
    return {app_->exit(wanted), {}};
  } catch (const CLI::ExtrasError&) {
    throw command_error(status_usage, describe_extra_word());
  } catch (const CLI::ParseError& error) {
    throw command_error(status_usage, error.what());
  }
  for (const auto& each : commands_) {
    if (each->is_named()) return each->run();
  }
  fmt::print("{}", app_->help());
  return {status_usage, {}};
}

std::string command_parser::help_command() const {
  std::string command_line = app_->get_name();
  const auto named = app_->get_subcommands();
  if (!named.empty()) command_line += " " + named.back()->get_name();
  return command_line + " --help";
}

std::string command_parser::help() const {
  return help_of(*app_);
}

std::string command_parser::help(const std::string& command_name) const {
  const CLI::App& app = *app_;
  for (const CLI::App* each : app.get_subcommands({})) {
    if (each->get_name() == command_name) return help_of(*each);
  }
  throw command_error(status_usage, describe_unknown_command(command_name));
}

tool_description command_parser::description() const {
  tool_description made{description_of(*app_, text_, text_.name), {}};
  std::vector<std::string> names;
  for (const auto& each : commands_) {
    made.commands.push_back(each->description());
    names.push_back(made.commands.back().name);
  }
  for (command_description& each : made.commands) {
    for (option_description& argument : each.arguments) {
      if (argument.value_name == "COMMAND") argument.choices = names;
    }
  }
  return made;
}

// Where no command was named, the first word that is not an option.
std::string command_parser::describe_extra_word() const {
  const CLI::App& app = *app_;
  const std::vector<std::string> extra = app.remaining(true);
  const bool names_command = !app.get_subcommands().empty();
  const std::string& word = !extra.empty() ? extra.front() : line_.own.front();
  if (names_command || word.starts_with('-')) return fmt::format("unknown option '{}'", word);
  return describe_unknown_command(word);
}

std::string command_parser::describe_unknown_command(const std::string& word) const {
  std::string known;
  const CLI::App& app = *app_;
  for (const CLI::App* each : app.get_subcommands({}))
    known += (known.empty() ? "" : ", ") + each->get_name();
  return fmt::format("unknown command '{}' (there are {})", word, known);
}

}  // namespace ashlar::cli
