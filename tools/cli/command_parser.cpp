// tools/cli/command_parser.cpp. Layer: cli.
#include "tools/cli/command_parser.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/files.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/files/text.hpp"

namespace ashlar::cli {

namespace {

// The library's own usage line would name a program's words SUBCOMMAND and leave "--" out.
class help_text : public CLI::Formatter {
 public:
  explicit help_text(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return fmt::format("Usage: {}\n", usage_);
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (is_positional || option->get_type_name().empty() || option->get_items_expected_min() > 0)
      return Formatter::make_option_name(option, is_positional);
    return fmt::format("--{}[={}]", option->get_lnames().front(), option->get_type_name());
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->nonpositional()) return Formatter::make_option_opts(option);
    return option->get_items_expected_max() > 1 ? "..." : "";
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
    return files::number_in(text) ? std::string{}
                                  : fmt::format("'{}' is no whole number from 0 to 2^64 - 1", text);
  });
}

std::vector<std::string> choices_of(const std::string& value_name) {
  if (value_name.find('|') == std::string::npos) return {};
  const std::vector<std::string_view> choices = files::parts_of(value_name, '|');
  return {choices.begin(), choices.end()};
}

void require_choice(CLI::Option& option, const char* value_name) {
  const std::vector<std::string> choices = choices_of(value_name);
  if (choices.empty()) return;
  option.check([choices](const std::string& text) {
    return std::ranges::find(choices, text) != choices.end()
               ? std::string{}
               : fmt::format("'{}' is none of {}", text, fmt::join(choices, ", "));
  });
}

// "tune-verify", as people write it.
std::string shown_name(std::string name) {
  std::ranges::replace(name, '-', ' ');
  return name;
}

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* each : app.get_options()) {
    for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string unknown_option(const CLI::App& app, const std::string& word) {
  return fmt::format("unknown option '{}'{}", word,
                     did_you_mean(word.substr(0, word.find('=')), names_of(app)));
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

// What the library found wrong, in words of this tool.
std::string refusal_of(const CLI::ParseError& error) {
  std::string said = error.what();
  const std::string name = said.substr(0, said.find_first_of(": "));
  if (error.get_name() == "ArgumentMismatch")
    return said.find("override") != std::string::npos ? fmt::format("{} takes no value", name)
                                                      : fmt::format("{} needs a value", name);
  constexpr std::string_view conversion = "Could not convert: ";
  if (said.starts_with(conversion))
    return fmt::format("{}: it cannot have such a value", said.substr(conversion.size()));
  return said;
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
  made.is_part = app.get_group().empty();
  return made;
}

}  // namespace

split_words split_at_separator(std::vector<std::string> words) {
  split_words split;
  const auto separator = std::ranges::find(words, "--");
  split.has_separator = separator != words.end();
  split.own.assign(words.begin(), separator);
  if (split.has_separator) split.behind.assign(std::next(separator), words.end());
  return split;
}

std::vector<std::string> program_words(const std::string& command_name,
                                       const std::vector<std::string>& left_over,
                                       const split_words& words) {
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
  added_->check([=](const std::string& text) {
    const std::optional<std::uint64_t> number = files::number_in(text);
    return number && *number >= static_cast<std::uint64_t>(least) &&
                   *number <= static_cast<std::uint64_t>(most)
               ? std::string{}
               : fmt::format("'{}' is no whole number from {} to {}", text, least, most);
  });
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
option command::further_argument(const char* name, std::string& into, const char* help,
                                 bool is_file) {
  CLI::Option& added = *parser_.add_option(name, into, help);
  require_choice(added, name);
  if (is_file) inputs_.push_back(&into);
  return option(added);
}
option command::further_arguments(const char* name, std::vector<std::string>& into,
                                  const char* help, bool are_files) {
  if (are_files) input_lists_.push_back(&into);
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
  inputs_.push_back(&into);
  return value(names, "FILE", into, help);
}
option command::output_file(const char* names, std::string& into, const char* help) {
  const option added = value(names, "FILE", into, help);
  has_force();
  return added;
}
option command::output(std::string& into, const char* help) {
  return output_file("-o,--output", into, help);
}
option command::json(std::string& into, const char* help) {
  const option added(*parser_.add_flag("--json{-}", into, help)->type_name("FILE"));
  has_force();
  return added;
}
void command::has_force() {
  if (parser_.get_option_no_throw("--force") == nullptr)
    parser_.add_flag_callback("--force", files::replace_any_file,
                              "Replace also a file that ashlar has not written");
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

void command::join_values(std::vector<std::string>& words) const {
  if (words.empty() || words.front() != parser_.get_name()) return;
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (!words[i].starts_with('-') && parser_.get_prefix_command()) return;  // a program's words
    const bool takes_number = std::ranges::find(with_number_, words[i]) != with_number_.end();
    const bool is_last = i + 2 == words.size() && parser_.get_prefix_command();
    if (words[i] == "--json" && !words[i + 1].starts_with('-') &&
        (words[i + 1].ends_with(".json") || (is_last && line_.has_separator)))
      throw command_error(status_usage,
                          fmt::format("the file is named as --json={}", words[i + 1]));
    if (takes_number && files::number_in(words[i + 1])) {
      words[i] += "=" + words[i + 1];
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      continue;
    }
    const CLI::Option* const known = parser_.get_option_no_throw(words[i]);
    if (known != nullptr && known->get_items_expected_min() > 0) ++i;  // its value
  }
}

void command::takes_program() { parser_.prefix_command(); }

std::vector<std::string> command::program() const {
  const std::vector<std::string> words = parser_.remaining();
  if (!words.empty() && is_option(words.front()))
    throw command_error(status_usage, unknown_option(parser_, words.front()));
  return program_words(shown_name(parser_.get_name()), words, line_);
}

bool command::has_program() const { return !parser_.remaining().empty() || !line_.behind.empty(); }

void command::does(std::function<int()> work) {
  work_ = [work = std::move(work)] { return command_end{work(), {}}; };
}
void command::does_as_program(std::function<int()> work) {
  work_ = [work = std::move(work)] { return command_end{0, work()}; };
}
void command::ends(std::function<command_end()> work) { work_ = std::move(work); }

bool command::is_named() const { return parser_.parsed(); }

command_end command::run() const {
  const auto read = [](std::string& name) {
    if (name == "-") name = files::standard_input_as_file();
  };
  for (std::string* const each : inputs_) read(*each);
  for (std::vector<std::string>* const all : input_lists_)
    for (std::string& each : *all) read(each);
  return work_();
}

command_description command::description() const {
  return description_of(
      parser_, text_,
      fmt::format("{} {}", parser_.get_parent()->get_name(), shown_name(text_.name)));
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
  added.group(added.get_name().find('-') == std::string::npos ? group_ : "");
  added.footer(text.footer);
  added.formatter(std::make_shared<help_text>(
      fmt::format("{} {} {}", app_->get_name(), shown_name(text.name), text.usage)));
  return *commands_.emplace_back(std::make_unique<command>(added, line_, text));
}

command_end command_parser::run(std::vector<std::string> words) {
  line_ = split_at_separator(std::move(words));
  resolve(line_.own);
  for (const auto& each : commands_) each->join_values(line_.own);
  try {
    // The library takes the words in reverse.
    app_->parse(std::vector<std::string>(line_.own.rbegin(), line_.own.rend()));
  } catch (const CLI::Success& wanted) {  // --help, --version
    return {app_->exit(wanted), {}};
  } catch (const CLI::ParseError& error) {
    const std::string extra = describe_extra_word();  // which may be why something else is missing
    throw command_error(status_usage, extra.empty() ? refusal_of(error) : extra);
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
  if (!named.empty()) command_line += " " + shown_name(named.back()->get_name());
  return command_line + " --help";
}

std::string command_parser::help() const { return help_of(*app_); }

std::string command_parser::help(std::vector<std::string> command_words) const {
  resolve(command_words);
  if (const CLI::App* const named = find(command_words.front())) return help_of(*named);
  throw command_error(status_usage, describe_unknown_command(command_words.front()));
}

void command_parser::resolve(std::vector<std::string>& words) const {
  if (words.size() < 2) return;
  std::error_code none;
  std::vector<std::string> parts;
  for (const CLI::App* each : app_->get_subcommands({}))
    if (each->get_name().starts_with(words[0] + "-"))
      parts.push_back(each->get_name().substr(words[0].size() + 1));
  if (std::ranges::find(parts, words[1]) != parts.end()) {
    words[0] += "-" + words[1];
    words.erase(words.begin() + 1);
  } else if (const std::string meant = did_you_mean(words[1], parts);
             !meant.empty() && !std::filesystem::exists(words[1], none)) {
    throw command_error(status_usage,
                        fmt::format("{}: there is no '{}'{}", words[0], words[1], meant));
  }
}

const CLI::App* command_parser::find(const std::string& command_name) const {
  const CLI::App& app = *app_;
  for (const CLI::App* each : app.get_subcommands({}))
    if (each->get_name() == command_name) return each;
  return nullptr;
}

tool_description command_parser::description() const {
  tool_description made{description_of(*app_, text_, text_.name), {}};
  std::vector<std::string> names;
  for (const auto& each : commands_) {
    made.commands.push_back(each->description());
    if (!made.commands.back().is_part) names.push_back(made.commands.back().name);
  }
  for (command_description& each : made.commands) {
    for (option_description& argument : each.arguments) {
      if (argument.value_name == "COMMAND") argument.choices = names;
    }
  }
  return made;
}

// Empty: there is none. A program's words are its own.
std::string command_parser::describe_extra_word() const {
  const CLI::App& app = *app_;
  std::vector<std::string> extra = app.remaining(true);
  const auto named = app.get_subcommands();
  if (!named.empty() && named.back()->get_prefix_command() && extra.size() > 1) extra.resize(1);
  const auto option = std::ranges::find_if(extra, is_option);
  if (option != extra.end()) return unknown_option(named.empty() ? app : *named.back(), *option);
  if (extra.empty() || (!named.empty() && named.back()->get_prefix_command())) return {};
  return named.empty() ? describe_unknown_command(extra.front())
                       : fmt::format("'{}' is a word too many", extra.front());
}

std::string command_parser::describe_unknown_command(const std::string& word) const {
  std::vector<std::string> known;
  const CLI::App& app = *app_;
  for (const CLI::App* each : app.get_subcommands({}))
    if (!each->get_group().empty()) known.push_back(each->get_name());
  const std::string meant = did_you_mean(word, known);
  return fmt::format(
      "unknown command '{}'{}", word,
      meant.empty() ? fmt::format(" (there are {})", fmt::join(known, ", ")) : meant);
}

}  // namespace ashlar::cli
