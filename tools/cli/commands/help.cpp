// tools/cli/commands/help.cpp: `ashlar help` and `ashlar completion`: what the other commands say of
// themselves, for people, man and shells. Layer: cli.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/completion.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/manual_page.hpp"
#include "tools/files/replaced_files.hpp"

namespace ashlar::cli {
namespace {

constexpr const char* help_footer =
    R"(It prints the same as ashlar COMMAND --help. The manual pages have the same facts.

Examples:
  ashlar help
  ashlar help record
  ashlar help --pages ~/.local/share/man/man1 && man ashlar-record

Exit status: 0; 2 for an unknown command, or a page that cannot be written.)";

constexpr const char* completion_footer =
    R"(The script goes to standard output. Debian's package ashlar-tools installs it for all three shells.

Examples:
  source <(ashlar completion bash)
  ashlar completion zsh > ~/.zfunc/_ashlar
  ashlar completion fish > ~/.config/fish/completions/ashlar.fish

Exit status: 0; 2 for another shell.)";

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
  command& help =
      to.add({"help", "The commands, or the options of one", "[OPTIONS] [COMMAND]", help_footer});
  struct help_words {
    std::string command;
    std::string folder;
  };
  const auto with = std::make_shared<help_words>();
  help.further_argument("COMMAND", with->command, "Which: ashlar help has the list");
  help.value("--pages", "FOLDER", with->folder, "Write all manual pages into FOLDER instead");
  help.does([&to, with] {
    if (!with->folder.empty()) {
      write_pages(to.description(), with->folder);
    } else {
      const std::string text = with->command.empty() ? to.help() : to.help(with->command);
      std::fputs(text.c_str(), stdout);
    }
    return 0;
  });
}

void add_completion(command_parser& to) {
  command& completion = to.add({"completion", "A script that completes command lines in a shell",
                                "SHELL", completion_footer});
  const auto shell = std::make_shared<std::string>();
  completion.argument("bash|zsh|fish", *shell, "The shell");
  completion.does([&to, shell] {
    const tool_description all = to.description();
    const std::string script = *shell == "bash"  ? bash_completion(all)
                               : *shell == "zsh" ? zsh_completion(all)
                                                 : fish_completion(all);
    std::fputs(script.c_str(), stdout);
    return 0;
  });
}

}  // namespace ashlar::cli
