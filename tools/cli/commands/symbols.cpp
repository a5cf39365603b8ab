// tools/cli/commands/symbols.cpp: `ashlar symbols`: the names of its calls go into a trace or a profile.
// Layer: cli.
#include <memory>
#include <string>
#include <vector>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/trace_names.hpp"

namespace ashlar::cli {
namespace {

struct symbols_options {
  std::vector<std::string> traces;
  std::string output;  // empty: each trace is replaced
};

constexpr const char* symbols_footer =
    R"(A trace with names is read the same on any machine, and after the program was built again.
Do this where the program ran, before you build it again: ashlar record --symbols does it at once.
In a profile, go tool pprof finds no C++ names by itself.

Examples:
  ashlar symbols run.atrace
  ashlar symbols heap.pb && go tool pprof -top heap.pb
  ashlar symbols run.atrace -o to_send.atrace

Exit status: 0, also where some calls have no name; 2 for what is neither, is damaged, or was recorded
without --stacks. The file then stays as it was.)";

int symbols_command(const symbols_options& options) {
  if (!options.output.empty() && options.traces.size() > 1)
    throw command_error(status_usage, "symbols: -o names one file, and there are several traces");
  for (const std::string& trace : options.traces) {
    const std::string& output = options.output.empty() ? trace : options.output;
    if (!put_names_into_profile(trace, output)) put_names_into(trace, output);
  }
  return 0;
}

}  // namespace

void add_symbols(command_parser& to) {
  command& symbols = to.add({"symbols", "Put the names of the calls into a trace or a profile",
                             "[OPTIONS] TRACE...", symbols_footer});
  const auto with = std::make_shared<symbols_options>();
  symbols.arguments("TRACE", with->traces,
                    "What ashlar record --stacks wrote, or samples for pprof");
  symbols.output(with->output, "Write what has names to FILE (default: replace TRACE)");
  symbols.does([with] { return symbols_command(*with); });
}

}  // namespace ashlar::cli
