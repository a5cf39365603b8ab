// tools/cli/commands/dump.cpp: `ashlar dump`: a trace as text, and text or another tool's recording
// as a trace. Layer: cli.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/trace/error.hpp"
#include "tools/trace/heaptrack.hpp"
#include "tools/trace/text.hpp"

namespace ashlar::cli {
namespace {

struct dump_options {
  std::string
      input;  // a trace; with from_text or from_heaptrack, what is read instead; "-": standard input
  std::string output;  // empty: standard output (a trace is not written to a terminal)
  bool from_text = false;
  bool from_heaptrack = false;
};

constexpr const char* dump_footer =
    R"(Examples:
  ashlar dump run.atrace > run.txt
  ashlar dump --from-text run.txt -o run.atrace
  zstdcat heaptrack.raw.zst | ashlar dump --from-heaptrack - -o run.atrace

Exit status: 0; 2 for a file that cannot be read as what it should be.)";

void write_to_standard_output(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size())
    throw command_error(status_failed,
                        fmt::format("cannot write the output: {}", std::strerror(errno)));
}

void import(const dump_options& options, const trace::byte_sink& to) {
  const bool from_standard_input = options.input == "-";
  std::ifstream file;
  if (!from_standard_input) {
    file.open(options.input, std::ios::binary);
    if (!file)
      throw input_error(fmt::format("cannot read '{}': {}", options.input, std::strerror(errno)));
  }
  std::istream& from = from_standard_input ? std::cin : file;
  const std::string name = from_standard_input ? "standard input" : options.input;
  if (options.from_heaptrack) return trace::read_heaptrack(from, name, ASHLAR_CLI_VERSION, to);
  trace::read_text(from, name, to);
}

// Returns: the exit status. Throws: command_error; nothing half-written is left.
int dump_command(const dump_options& options) {
  const bool imports = options.from_text || options.from_heaptrack;
  if (imports && options.output.empty() && ::isatty(STDOUT_FILENO) == 1)
    throw command_error(status_usage, "dump: a trace is not for a terminal; name a file with -o");
  return with_trace_errors([&] {
    std::unique_ptr<trace::trace_reader> reader;
    if (!imports) reader = open_trace(options.input);
    files::replaced_files files({options.input == "-" ? "/dev/stdin" : options.input});
    trace::byte_sink sink = write_to_standard_output;
    if (!options.output.empty()) {
      files.prepare("-o", options.output);
      sink = [&](std::string_view bytes) { files.write(0, bytes); };
    }
    if (imports) {
      import(options, sink);
    } else {
      trace::write_text(*reader, sink);
    }
    files.commit();
    return 0;
  });
}

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
