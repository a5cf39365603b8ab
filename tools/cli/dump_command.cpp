// tools/cli/dump_command.cpp. Layer: cli.
#include "tools/cli/dump_command.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/cli/error.hpp"
#include "tools/cli/replaced_files.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/trace/error.hpp"
#include "tools/trace/heaptrack.hpp"
#include "tools/trace/text.hpp"

namespace ashlar::cli {

namespace {

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

}  // namespace

int dump_command(const dump_options& options) {
  const bool imports = options.from_text || options.from_heaptrack;
  if (imports && options.output.empty() && ::isatty(STDOUT_FILENO) == 1)
    throw command_error(status_usage, "dump: a trace is not for a terminal; name a file with -o");
  return with_trace_errors([&] {
    std::unique_ptr<trace::trace_reader> reader;
    if (!imports) reader = open_trace(options.input);
    replaced_files files({options.input == "-" ? "/dev/stdin" : options.input});
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

}  // namespace ashlar::cli
