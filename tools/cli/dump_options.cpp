// tools/cli/dump_options.cpp: the words of `ashlar dump`. Layer: cli.
#include <memory>

#include "tools/cli/commands.hpp"
#include "tools/cli/dump_command.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* dump_footer =
    R"(Examples:
  ashlar dump run.atrace > run.txt
  ashlar dump --from-text run.txt -o run.atrace
  zstdcat heaptrack.raw.zst | ashlar dump --from-heaptrack - -o run.atrace

Exit status: 0; 2 for a file that cannot be read as what it should be.)";

}  // namespace

void add_dump(command_parser& to) {
  command& dump =
      to.add({"dump", "A trace as text, or text as a trace", "[OPTIONS] FILE", dump_footer});
  const auto with = std::make_shared<dump_options>();
  dump.argument("FILE", with->input,
                "The trace; with --from-..., what is to become one (-: standard input)");
  dump.output(with->output, "Write to FILE (default: standard output)");
  const option text =
      dump.flag("--from-text", with->from_text, "FILE is what dump wrote: make a trace");
  dump.flag("--from-heaptrack", with->from_heaptrack,
            "FILE is an unpacked raw recording of heaptrack's")
      .excludes(text);
  dump.does([with] { return dump_command(*with); });
}

}  // namespace ashlar::cli
