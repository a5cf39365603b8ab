// tools/cli/stat_options.cpp: the words of `ashlar stat`. Layer: cli.
#include <memory>

#include "tools/cli/commands.hpp"
#include "tools/cli/stat_command.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* stat_footer =
    R"(Examples:
  ashlar stat run.atrace
  ashlar stat --json run.atrace > figures.json

Exit status: 0; 2 for a file that is no trace, is damaged, or is of a newer version.)";

}  // namespace

void add_stat(command_parser& to) {
  command& stat =
      to.add({"stat", "Tell what is in a trace or a profile", "[OPTIONS] TRACE", stat_footer});
  const auto with = std::make_shared<stat_options>();
  stat.argument("TRACE", with->path, "What record or profile wrote");
  stat.flag("--json", with->json, "As JSON, with every size and moment");
  stat.value("--rows", "N", with->rows, "So many sizes and call sites (default 10)");
  stat.does([with] { return stat_command(*with); });
}

}  // namespace ashlar::cli
