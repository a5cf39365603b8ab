// tools/cli/completion.cpp. Layer: cli.
#include "tools/cli/completion.hpp"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/text.hpp"
#include "tools/files/text.hpp"

namespace ashlar::cli {
namespace {

std::string first_line(const tool_description& all, std::string_view shell) {
  return fmt::format("# Completion of {0} {1} for {2}, as `{0} help --completion {2}` prints it.\n",
                     all.tool.name, ASHLAR_CLI_VERSION, shell);
}

// A word of bash and zsh.
std::string shell_word(const std::string& text) { return shell_quoted({text}); }

bool is_file(const option_description& option) {
  return option.names.empty() || option.value_name == "FILE" || option.value_name == "LIBRARY";
}

bool takes_next_word(const option_description& option) {
  return !option.value_name.empty() && !option.value_is_optional;
}

std::vector<std::string> names_of(const std::vector<option_description>& options) {
  std::vector<std::string> names;
  for (const option_description& each : options)
    names.insert(names.end(), each.names.begin(), each.names.end());
  return names;
}

// The second words of a command: "verify" of tune.
std::vector<std::string> parts_of(const tool_description& all, const command_description& command) {
  std::vector<std::string> parts;
  for (const command_description& each : all.commands)
    if (each.name.starts_with(command.name + "-"))
      parts.push_back(each.name.substr(command.name.size() + 1));
  return parts;
}

// "tune-check|tune-verify".
std::string all_parts(const tool_description& all, const char* between) {
  std::vector<std::string> names;
  for (const command_description& each : all.commands)
    if (each.is_part) names.push_back(each.name);
  return fmt::format("{}", fmt::join(names, between));
}

// ---- bash -----------------------------------------------------------------------------------------

// One command's branch: what the code behind it needs to know.
std::string bash_branch(const command_description& command, const std::vector<std::string>& parts) {
  std::vector<std::string> with_value;
  std::string branch =
      fmt::format("    {})\n      options={}\n", command.name,
                  shell_word(fmt::format("{}", fmt::join(names_of(command.options), " "))));
  std::string words;
  for (const option_description& each : command.options) {
    if (!takes_next_word(each)) continue;
    with_value.insert(with_value.end(), each.names.begin(), each.names.end());
    if (each.choices.empty()) continue;
    words += fmt::format("        {}) choices={} ;;\n", fmt::join(each.names, " | "),
                         shell_word(fmt::format("{}", fmt::join(each.choices, " "))));
  }
  for (const option_description& each : command.arguments) {
    if (!each.choices.empty())
      branch += fmt::format("      arguments={}\n",
                            shell_word(fmt::format("{}", fmt::join(each.choices, " "))));
  }
  if (!parts.empty())
    branch += fmt::format("      ((COMP_CWORD > 2)) || arguments={}\n",
                          shell_word(fmt::format("{}", fmt::join(parts, " "))));
  if (!with_value.empty())
    branch += fmt::format("      with_value={}\n",
                          shell_word(fmt::format(" {} ", fmt::join(with_value, " "))));
  if (command.takes_program) branch += "      runs_program=yes\n";
  if (!words.empty()) branch += "      case $option in\n" + words + "      esac\n";
  return branch + "      ;;\n";
}

constexpr const char* bash_program = R"(
# A program begins at the word of this number.
_ashlar_program() {
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
  fi
}

_ashlar() {
  local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
  # Bash takes --option=value for three words.
  if [[ $word == = ]]; then word=; elif [[ $option == = ]]; then option=${COMP_WORDS[COMP_CWORD - 2]}; fi
  local options= arguments= with_value= choices= runs_program= i
  COMPREPLY=()
)";

constexpr const char* bash_rest = R"(  esac
  for ((i = first; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      --) _ashlar_program $((i + 1)) && return ;;
      =) ((++i)) ;;
      -*) [[ $with_value != *" ${COMP_WORDS[i]} "* || ${COMP_WORDS[i + 1]} == = ]] || ((++i)) ;;
      *) [[ -z $runs_program ]] || { _ashlar_program "$i" && return; } ;;
    esac
  done
  # What is left without words are files, which bash completes by itself.
  if [[ -n $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
  elif [[ $with_value == *" $option "* ]]; then
    return
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ -n $arguments ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$arguments" -- "$word")
  elif [[ -n $runs_program ]]; then
    _ashlar_program "$COMP_CWORD"
  fi
}
complete -o bashdefault -o default -F _ashlar ashlar
)";

// ---- zsh ------------------------------------------------------------------------------------------

// ":message:action", of a value or an argument.
std::string zsh_value(const option_description& option) {
  std::string action;
  if (!option.choices.empty()) {
    action = fmt::format("({})", fmt::join(option.choices, " "));
  } else if (is_file(option)) {
    action = "_files";
  }
  return fmt::format(":{}:{}", option.value_name, action);
}

std::string zsh_option(const option_description& option) {
  const std::string help = fmt::format(
      "[{}]", files::escaped(option.help, {{'[', "\\["}, {']', "\\]"}, {'\\', "\\\\"}}));
  std::string lines;
  for (const std::string& name : option.names) {
    std::string word = name;
    if (takes_next_word(option)) word += name.starts_with("--") ? "=" : "";
    if (option.value_is_optional && !option.value_name.empty()) word += "=-";
    word += help;
    if (!option.value_name.empty())
      word += (option.value_is_optional ? ":" : "") + zsh_value(option);
    lines += fmt::format("        {}{} \\\n",
                         option.names.size() > 1
                             ? shell_word(fmt::format("({})", fmt::join(option.names, " ")))
                             : "",
                         shell_word(word));
  }
  return lines;
}

std::string zsh_branch(const command_description& command, const std::vector<std::string>& parts) {
  std::string branch = fmt::format("    {})\n", command.name);
  if (!parts.empty())
    branch += fmt::format("      ((CURRENT > 2)) || compadd -- {}\n", fmt::join(parts, " "));
  branch += "      _arguments -S : \\\n";
  for (const option_description& each : command.options) branch += zsh_option(each);
  int place = 0;
  for (const option_description& each : command.arguments) {
    ++place;
    branch += fmt::format(
        "        {} \\\n",
        shell_word((each.is_repeated ? "*" : fmt::format("{}", place)) + zsh_value(each)));
  }
  if (command.takes_program) branch += "        '*:::program: _normal' \\\n";
  return branch + "        && return\n      ;;\n";
}

// ---- fish -----------------------------------------------------------------------------------------

std::string fish_quoted(std::string_view text) {
  return "'" + files::escaped(text, {{'\\', "\\\\"}, {'\'', "\\'"}}) + "'";
}

std::string fish_option(std::string_view condition, const option_description& option) {
  std::string line = fmt::format("complete -c ashlar -n {}", fish_quoted(condition));
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                   : fmt::format(" -s {}", name.substr(1));
  }
  if (!option.choices.empty()) {
    line +=
        fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(option.choices, " "))));
  } else if (takes_next_word(option)) {
    line += is_file(option) ? " -r -F" : " -x";
  }
  return fmt::format("{} -d {}\n", line, fish_quoted(option.help));
}

constexpr const char* fish_conditions = R"(
# The words of the line as typed so far begin with this command, and are not yet a program's.
function __ashlar_command
    set -l words (commandline -opc)
    set -l name "$words[2]"
    contains -- "$name-$words[3]" $__ashlar_parts; and set name "$name-$words[3]"
    test (count $words) -gt 1; and test "$name" = $argv[1]; and not contains -- -- $words
end
function __ashlar_no_command
    test (count (commandline -opc)) -eq 1
end
# Behind "--", the program completes its own line.
function __ashlar_program
    set -l words (commandline -opc)
    set -l separator (contains -i -- -- $words); or return
    set -e words[1..$separator]
    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end
complete -c ashlar -f
complete -c ashlar -n 'contains -- -- (commandline -opc)' -a '(__ashlar_program)'
)";

}  // namespace

std::string bash_completion(const tool_description& all) {
  std::vector<std::string> first = names_of(all.tool.options);
  std::string branches;
  for (const command_description& each : all.commands) {
    if (!each.is_part) first.push_back(each.name);
    branches += bash_branch(each, parts_of(all, each));
  }
  return first_line(all, "bash") + bash_program +
         fmt::format(
             "  if ((COMP_CWORD == 1)); then\n"
             "    mapfile -t COMPREPLY < <(compgen -W {} -- \"$word\")\n"
             "    return\n"
             "  fi\n"
             "  local command=${{COMP_WORDS[1]}} first=2\n"
             "  if ((COMP_CWORD > 2)); then\n"
             "    case $command-${{COMP_WORDS[2]}} in {}) command+=-${{COMP_WORDS[2]}} first=3 ;; "
             "esac\n"
             "  fi\n"
             "  case $command in\n",
             shell_word(fmt::format("{}", fmt::join(first, " "))), all_parts(all, " | ")) +
         branches + bash_rest;
}

std::string zsh_completion(const tool_description& all) {
  std::string names, branches;
  for (const command_description& each : all.commands) {
    if (!each.is_part)
      names += fmt::format(
          "      {}\n", shell_word(each.name + ":" +
                                   files::escaped(each.summary, {{':', "\\:"}, {'\\', "\\\\"}})));
    branches += zsh_branch(each, parts_of(all, each));
  }
  std::string script = "#compdef ashlar\n" + first_line(all, "zsh") + R"(
_ashlar() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C : \
)";
  for (const option_description& each : all.tool.options) script += zsh_option(each);
  script += R"(    '1:command:->command' '*::words:->words' && return
  if [[ $state == command ]]; then
    local -a commands=(
)" + names + R"(    )
    _describe command commands
    return
  fi
  local command=$line[1]
  if ((CURRENT > 2)); then
    case $command-$words[2] in ()" +
            all_parts(all, "|") + R"()
      command+=-$words[2]; shift words; ((CURRENT--)) ;;
    esac
  fi
  case $command in
)";
  // As a file of its own the function is what zsh loads it for; otherwise it is made known.
  return script + branches + R"(  esac
}
if [[ $funcstack[1] == _ashlar ]]; then _ashlar "$@"; else compdef _ashlar ashlar; fi
)";
}

std::string fish_completion(const tool_description& all) {
  std::string script = first_line(all, "fish") +
                       fmt::format("set -g __ashlar_parts {}\n", all_parts(all, " ")) +
                       fish_conditions;
  for (const option_description& each : all.tool.options)
    script += fish_option("__ashlar_no_command", each);
  for (const command_description& each : all.commands) {
    const std::string condition = "__ashlar_command " + each.name;
    if (!each.is_part)
      script += fmt::format("complete -c ashlar -n __ashlar_no_command -a {} -d {}\n", each.name,
                            fish_quoted(each.summary));
    if (const std::vector<std::string> parts = parts_of(all, each); !parts.empty())
      script += fmt::format("complete -c ashlar -n {} -a {}\n",
                            fish_quoted(condition + "; and test (count (commandline -opc)) -eq 2"),
                            fish_quoted(fmt::format("{}", fmt::join(parts, " "))));
    for (const option_description& option : each.options) script += fish_option(condition, option);
    for (const option_description& argument : each.arguments) {
      script += argument.choices.empty()
                    ? fmt::format("complete -c ashlar -n {} -F\n", fish_quoted(condition))
                    : fish_option(condition, argument);
    }
    if (each.takes_program)
      script +=
          fmt::format("complete -c ashlar -n {} -a '(__fish_complete_subcommand --fcs-skip=2)'\n",
                      fish_quoted(condition));
  }
  return script;
}

}  // namespace ashlar::cli
