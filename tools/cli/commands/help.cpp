// tools/cli/commands/help.cpp: `ashlar help`: what the other commands say of themselves, for people, man
// and shells. Layer: cli.
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
    std::string folder;
    std::string shell;
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
    const std::string text = with->shell == "bash"   ? bash_completion(to.description())
                             : with->shell == "zsh"  ? zsh_completion(to.description())
                             : with->shell == "fish" ? fish_completion(to.description())
                             : with->command.empty() ? to.help()
                                                     : to.help(with->command);
    std::fputs(text.c_str(), stdout);
    return 0;
  });
}

}  // namespace ashlar::cli
