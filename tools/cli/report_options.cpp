// tools/cli/report_options.cpp: the words of `ashlar report`. Layer: cli.
#include <memory>

#include "tools/cli/commands.hpp"
#include "tools/cli/report_command.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* report_footer =
    R"(The page needs nothing beside it: it loads no file, and asks no network.

Examples:
  ashlar report run.atrace -o run.html
  ashlar report run.atrace --pools pools.json --compare compare.json
  ashlar report run.atrace --json | jq .peak)";

}  // namespace

void add_report(command_parser& to) {
  command& report = to.add({"report", "One page about a trace: charts, tables, call sites",
                            "[OPTIONS] TRACE", report_footer});
  const auto with = std::make_shared<report_options>();
  report.argument("TRACE", with->trace, "What ashlar record wrote");
  report.output(with->output, "The page (default: report.html)");
  report.file("--pools", with->pools, "The classes that ashlar tune chose (JSON)");
  report.file("--compare", with->compare, "Several allocators, by ashlar compare --json");
  report.file("--replay", with->replay, "The trace on several allocators, by ashlar replay --json");
  report.flag("--json", with->json, "Print the page's data; the page itself only with -o");
  report.does([with] { return report_command(*with); });
}

}  // namespace ashlar::cli
