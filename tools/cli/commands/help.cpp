// tools/cli/commands/help.cpp: `ashlar help`: what the other commands say of themselves, for people, man
// and shells. Layer: cli.
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/completion.hpp"
#include "tools/cli/error.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/files/text.hpp"

namespace ashlar::cli {
namespace {

constexpr const char* help_footer =
    R"(It prints the same as ashlar COMMAND --help. The manual pages have the same facts. Debian's package
ashlar-tools installs them, and the completion for all three shells.

Examples:
  ashlar help
  ashlar help tune verify
  ashlar help --pages ~/.local/share/man/man1 && man ashlar-record
  source <(ashlar help --completion bash)
  ashlar help --completion zsh > ~/.zfunc/_ashlar
  ashlar help --completion fish > ~/.config/fish/completions/ashlar.fish

Exit status: 0; 2 for an unknown command or shell, or a page that cannot be written.)";

// ---- manual pages ----

// Text that roff shows as it is: its own characters, and a dot or a quote that begins a line.
std::string roff_text(std::string_view text) {
  std::string made = files::escaped(text, {{'\\', "\\e"},
                                           {'-', "\\-"},
                                           {'\'', "\\(aq"},
                                           {'`', "\\(ga"},
                                           {'^', "\\(ha"},
                                           {'~', "\\(ti"}});
  for (std::size_t i = 0; i < made.size(); ++i)
    if (made[i] == '.' && (i == 0 || made[i - 1] == '\n')) made.insert(i, "\\&");
  return made;
}

std::string section(std::string_view name, std::string_view content) {
  return content.empty() ? std::string{} : fmt::format(".SH {}\n{}", name, content);
}

std::string as_it_stands(std::string_view lines) {
  return fmt::format(".nf\n{}\n.fi\n", roff_text(lines));
}

std::string one_of_a_list(std::string_view term, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", term, roff_text(text));
}

// The parts of a footer, each under its heading.
struct footer_parts {
  std::string free_text, examples, environment, exit_status;
};

footer_parts parts_of(std::string_view footer) {
  footer_parts parts;
  const std::pair<std::string_view, std::string*> headings[]{{"Examples:", &parts.examples},
                                                             {"Example:", &parts.examples},
                                                             {"Environment:", &parts.environment},
                                                             {"Exit status:", &parts.exit_status}};
  while (!footer.empty()) {
    const std::size_t end = footer.find("\n\n");
    std::string_view paragraph = footer.substr(0, end);
    footer.remove_prefix(end == std::string_view::npos ? footer.size() : end + 2);
    std::string* part = &parts.free_text;
    for (const auto& [heading, its] : headings) {
      if (!paragraph.starts_with(heading)) continue;
      part = its;
      paragraph.remove_prefix(heading.size());
      while (paragraph.starts_with(' ') || paragraph.starts_with('\n')) paragraph.remove_prefix(1);
      break;
    }
    if (part == &parts.examples) {
      *part += as_it_stands(fmt::format("  {}", paragraph));
    } else {
      if (!part->empty()) *part += ".PP\n";
      *part += roff_text(paragraph) + "\n";
    }
  }
  return parts;
}

// "-o, --output FILE", "--stacks[=DEPTH]".
std::string term_of(const option_description& option) {
  std::string term;
  for (const std::string& name : option.names)
    term += fmt::format("{}\\fB{}\\fR", term.empty() ? "" : ", ", roff_text(name));
  if (option.value_name.empty()) return term;
  const std::string value = fmt::format("\\fI{}\\fR", roff_text(option.value_name));
  if (option.names.empty()) return value + (option.is_repeated ? "..." : "");
  return term + (option.value_is_optional ? fmt::format("[={}]", value) : " " + value);
}

std::string terms_of(const std::vector<option_description>& options) {
  std::string list;
  for (const option_description& each : options) list += one_of_a_list(term_of(each), each.help);
  return list;
}

std::string page_name(const tool_description& all, const command_description& of) {
  return &of == &all.tool ? of.name : fmt::format("{}-{}", all.tool.name, of.name);
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Returns: the file that has a command's page: "ashlar-run.1", and "ashlar.1" of the tool.
std::string manual_page_file(const tool_description& all, const command_description& of) {
  return page_name(all, of) + ".1";
}

// Returns: the page in roff, for man. Requires: `of` is all.tool or one of all.commands.
std::string manual_page(const tool_description& all, const command_description& of) {
  const footer_parts footer = parts_of(of.footer);
  const std::string name = roff_text(page_name(all, of));
  std::string page = fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n",
                                 upper(page_name(all, of)), all.tool.name, ASHLAR_CLI_VERSION);
  page += section("NAME", fmt::format("{} \\- {}\n", name, roff_text(of.summary)));
  page += section("SYNOPSIS", as_it_stands(of.usage));
  page += section("DESCRIPTION",
                  footer.free_text.empty() ? roff_text(of.summary) + "\n" : footer.free_text);
  std::string commands;
  for (const command_description& each : all.commands)
    commands +=
        one_of_a_list(fmt::format("\\fB{}\\fR(1)", roff_text(page_name(all, each))), each.summary);
  if (&of == &all.tool) page += section("COMMANDS", commands);
  page += section("ARGUMENTS", terms_of(of.arguments));
  page += section("OPTIONS", terms_of(of.options));
  page += section("ENVIRONMENT", footer.environment);
  page += section("EXAMPLES", footer.examples);
  page += section("EXIT STATUS", footer.exit_status);
  if (&of != &all.tool) page += section("SEE ALSO", fmt::format("\\fB{}\\fR(1)\n", all.tool.name));
  return page;
}

// Effects: writes a page for each command, and one for the tool. Throws: command_error.
void write_pages(const tool_description& all, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw command_error(status_usage, fmt::format("--pages {}: {}", folder, error.message()));
  files::replaced_files files;
  std::vector<std::string> pages;
  const auto add = [&](const command_description& of) {
    files.prepare("--pages", folder + "/" + manual_page_file(all, of));
    pages.push_back(manual_page(all, of));
  };
  add(all.tool);
  for (const command_description& each : all.commands) add(each);
  files.commit(pages);
}

}  // namespace

void add_help(command_parser& to) {
  command& help = to.add({"help", "The options of a command, manual pages, completion for a shell",
                          "[OPTIONS] [COMMAND]", help_footer});
  struct help_words {
    std::vector<std::string> command;
    std::string folder, shell;
  };
  const auto with = std::make_shared<help_words>();
  help.further_arguments("COMMAND", with->command, "Which: ashlar help has the list", false);
  help.value("--pages", "FOLDER", with->folder, "Write all manual pages into FOLDER instead");
  help.value("--completion", "bash|zsh|fish", with->shell,
             "Print the script that completes command lines in this shell instead");
  help.does([&to, with] {
    if (!with->folder.empty()) {
      write_pages(to.description(), with->folder);
      return 0;
    }
    const std::string text = !with->shell.empty()    ? std::string(completion_script(with->shell))
                             : with->command.empty() ? to.help()
                                                     : to.help(with->command);
    std::fputs(text.c_str(), stdout);
    return 0;
  });
}

}  // namespace ashlar::cli
