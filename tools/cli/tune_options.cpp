// tools/cli/tune_options.cpp: the words of `ashlar tune`. Layer: cli.
#include <memory>

#include "tools/cli/commands.hpp"
#include "tools/cli/tune_command.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* tune_footer =
    R"(The classes are printed; with -o they are written as a C++ header, and beside it, as .json,
their certificate: what is claimed of them, for ashlar verify and ashlar check. Files are
written whole or not at all. With --mode heap: the size classes of the process heap, for
ASHLAR_CONFIG=FILE with the drop-in library, or as a header to build the library with.

Examples:
  ashlar tune run.atrace
  ashlar tune --mode heap -o program.classes run.atrace
  ashlar tune --classes 6 --margin 10 -o pools.hpp monday.atrace tuesday.atrace
  ashlar tune --budget 256KiB --largest 4096 --rules run.atrace
  ashlar tune -o pools.hpp fleet.aprof

Exit status: 0; 2 where it is impossible, a trace cannot be read or a file not written.)";

}  // namespace

void add_tune(command_parser& to) {
  command& tune = to.add({"tune", "Choose pools from traces or profiles: fewest bytes",
                          "[OPTIONS] TRACE...", tune_footer});
  const auto with = std::make_shared<tune_options>();
  tune.arguments("TRACE", with->inputs, "What ashlar record or ashlar profile wrote");
  tune.value("--classes", "K", with->classes, "At most K classes, or auto: the knee of the curve");
  tune.value("--mode", "MODE", with->mode,
             "static: pools of fixed sizes and capacities; heap: the process heap's size classes");
  tune.value("--weigh", "WHAT", with->weigh,
             "heap: least slack at the peak, over time, or both (default)");
  tune.value("--margin", "PERCENT", with->margin_percent, "Blocks more than the peak (default 0)");
  tune.value("--budget", "BYTES", with->budget_bytes, "No more bytes than this, 64KiB say")
      .in_bytes();
  tune.value("--align", "BYTES", with->alignment, "Of every block at least (default 16)")
      .in_bytes();
  tune.value("--largest", "BYTES", with->largest, "Leave larger requests out").in_bytes();
  tune.value("--resolution", "WHICH", with->resolution,
             "exact sizes, or profile: what profiles tell apart (default where there is one)");
  tune.flag("--borrow", with->borrow, "An exhausted class may take from the next");
  tune.flag("--rules", with->rules, "Print what other rules would come to");
  tune.output(
      with->header_path,
      "The C++ header; with --mode heap and another name than *.hpp, what ASHLAR_CONFIG names");
  tune.file("--certificate", with->certificate_path,
            "The JSON (default: beside the header, if there is one)");
  tune.value("--namespace", "NAME", with->space, "Of the header (default tuned)");
  tune.does([with] { return tune_command(*with); });
}

}  // namespace ashlar::cli
