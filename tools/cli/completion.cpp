// tools/cli/completion.cpp. Layer: cli.
#include "tools/cli/completion.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace ashlar::cli {
namespace {

constexpr std::string_view bash_script = R"(# Completion of ashlar for bash.
_ashlar() {
  local word=${COMP_WORDS[COMP_CWORD]} said kind
  mapfile -t said < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  kind=${said[0]-}
  COMPREPLY=()
  [[ $word != = ]] || word=  # bash takes --option=value for three words
  if [[ $kind != program* ]]; then
    said=("${said[@]%%$'\t'*}")
    mapfile -t COMPREPLY < <(compgen -W "${said[*]:1}" -- "$word")
  elif declare -F _command_offset >/dev/null; then
    _command_offset $((${kind#program } + 1))
  elif ((COMP_CWORD == ${kind#program } + 1)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
  fi
}
# What is left without words are files, which bash completes by itself.
complete -o bashdefault -o default -F _ashlar ashlar
)";

// As a file of its own the function is what zsh loads it for; otherwise it is made known.
constexpr std::string_view zsh_script = R"(#compdef ashlar
# Completion of ashlar for zsh.
_ashlar() {
  local -a said
  said=("${(@f)$($words[1] __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  local kind=$said[1]
  shift said
  if [[ $kind == program* ]]; then
    local -i before=$((${kind#program } + 1))
    shift $before words
    ((CURRENT -= before))
    _normal
    return
  fi
  said=("${(@)said//:/\\:}")
  said=("${(@)said/$'\t'/:}")
  (($#said)) && _describe word said
  [[ $kind == files ]] && { compset -P '--*='; _files }
}
if [[ $funcstack[1] == _ashlar ]]; then _ashlar "$@"; else compdef _ashlar ashlar; fi
)";

constexpr std::string_view fish_script = R"(# Completion of ashlar for fish.
function __ashlar_complete
    set -l current (commandline -ct)
    set -l words (commandline -opc) "$current"
    set -l said ($words[1] __complete $words[2..-1] 2>/dev/null)
    if string match -q 'program *' -- "$said[1]"
        set -e words[1..(math (string sub -s 9 -- $said[1]) + 1)]
        set -e words[-1]
        complete -C (string join ' ' -- (string escape -- $words) "$current")
        return
    end
    string join \n -- $said[2..-1]
    set -l option (string match -r -- '^--[^=]*=' "$current")
    test "$said[1]" = files
    and string replace -r -- '^' "$option" (__fish_complete_path (string replace -- "$option" '' "$current"))
end
complete -c ashlar -f -a '(__ashlar_complete)'
)";

std::string line_of(std::string_view word, std::string_view help) {
  return fmt::format("{}\t{}\n", word, help);
}

std::string options_of(const command_description& of) {
  std::string lines = "words\n";
  for (const option_description& each : of.options)
    for (const std::string& name : each.names) lines += line_of(name, each.help);
  return lines;
}

// Returns: what the value may be, each behind `before`.
std::string values_of(const option_description& option, std::string_view before) {
  if (option.value_name == "FILE" || option.value_name == "LIBRARY") return "files\n";
  std::string lines = "words\n";
  for (const std::string& each : option.choices) lines += fmt::format("{}{}\n", before, each);
  return lines;
}

const option_description* find_option(const command_description& of, std::string_view name) {
  const auto found = std::ranges::find_if(of.options, [&](const option_description& each) {
    return std::ranges::find(each.names, name) != each.names.end();
  });
  return found == of.options.end() ? nullptr : &*found;
}

const command_description* find_command(const tool_description& all, const std::string& name) {
  const auto found = std::ranges::find(all.commands, name, &command_description::name);
  return found == all.commands.end() ? nullptr : &*found;
}

// Returns: what may stand where no option begins.
std::string arguments_of(const tool_description& all, const command_description& of,
                         bool is_first) {
  std::string lines;
  bool has_file = false;
  if (is_first)
    for (const command_description& each : all.commands)
      if (each.name.starts_with(of.name + "-"))
        lines += line_of(each.name.substr(of.name.size() + 1), each.summary);
  for (const option_description& each : of.arguments) {
    has_file = has_file || each.choices.empty();
    for (const std::string& choice : each.choices) lines += line_of(choice, "");
  }
  return (has_file ? "files\n" : "words\n") + lines;
}

}  // namespace

std::string completions(const tool_description& all, const std::vector<std::string>& words) {
  if (words.size() < 2) {
    std::string lines = options_of(all.tool);
    for (const command_description& each : all.commands)
      if (!each.is_part) lines += line_of(each.name, each.summary);
    return lines;
  }
  const std::size_t last = words.size() - 1;
  const command_description* of = last > 1 ? find_command(all, words[0] + "-" + words[1]) : nullptr;
  const std::size_t first = of != nullptr ? 2 : 1;
  if (of == nullptr) of = find_command(all, words[0]);
  if (of == nullptr) return "words\n";

  for (std::size_t i = first; i < last; ++i) {
    if (words[i] == "--") return fmt::format("program {}\n", i + 1);
    if (!words[i].starts_with('-')) {
      if (of->takes_program) return fmt::format("program {}\n", i);
      continue;
    }
    const option_description* const option = find_option(*of, words[i]);
    const bool has_value = words[i + 1] == "=";  // bash takes --option=value for three words
    if (option == nullptr ||
        (!has_value && (option->value_name.empty() || option->value_is_optional)))
      continue;
    i += has_value && i + 2 <= last ? 2 : 1;
    if (i >= last) return values_of(*option, "");
  }
  const std::string& word = words[last];
  if (const std::size_t equals = word.find('='); word.starts_with("--") && equals != word.npos) {
    const option_description* const option = find_option(*of, word.substr(0, equals));
    return option == nullptr ? "words\n" : values_of(*option, word.substr(0, equals + 1));
  }
  if (word.starts_with('-')) return options_of(*of);
  if (of->takes_program) return fmt::format("program {}\n", last);
  return arguments_of(all, *of, last == 1);
}

std::string_view completion_script(std::string_view shell) {
  return shell == "bash" ? bash_script : shell == "zsh" ? zsh_script : fish_script;
}

}  // namespace ashlar::cli
