// tools/cli/commands/export.cpp: `ashlar export`: a trace in the formats of other tools and as text,
// text or another tool's recording as a trace, and the names of its calls in it. Layer: cli.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/cli/call_sites.hpp"
#include "tools/cli/commands/commands.hpp"
#include "tools/cli/debug_hints.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/cli/trace_names.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/report/counter_tracks.hpp"
#include "tools/report/trace_data.hpp"
#include "tools/trace/call_names.hpp"
#include "tools/trace/exported_profile.hpp"
#include "tools/trace/heaptrack.hpp"
#include "tools/trace/text.hpp"

namespace ashlar::cli {
namespace {

struct export_options {
  std::vector<std::string> traces;  // several of --symbols alone
  std::string output;               // empty: standard output; of --symbols each trace is replaced
  std::string format = "pprof";
  std::string figure;  // empty: peak_space
  bool from_text = false;
  bool from_heaptrack = false;
  bool symbols = false;
};

constexpr const char* export_footer =
    R"(A figure is alloc_objects, alloc_space, inuse_objects and inuse_space (at the trace's end), lifetime
(nanoseconds, of all blocks together) or peak_space (bytes when most were in use). A profile has all of them,
and FIGURE is the one that pprof shows first. Folded stacks have FIGURE alone.

The time line is in the Trace Event Format: live bytes, live blocks, and what the 24 call sites held that held
most. A trace without calls has the first two.

A trace with names (--symbols) is read the same on any machine, and after the program was built again. Do
this where the program ran, before you build it again: ashlar record --symbols does it at once. In a profile,
go tool pprof finds no C++ names by itself.

Examples:
  ashlar export run.atrace -o run.pb && pprof -http=: run.pb
  ashlar export --format folded --figure alloc_space run.atrace -o run.folded && flamegraph.pl run.folded
  ashlar export --format perfetto run.atrace -o run.json     # then open it at ui.perfetto.dev
  ashlar export --format text run.atrace > run.txt
  ashlar export --from-text run.txt -o run.atrace
  zstdcat heaptrack.raw.zst | ashlar export --from-heaptrack - -o run.atrace
  ashlar export --symbols run.atrace
  ashlar export --symbols heap.pb && go tool pprof -top heap.pb

Exit status: 0, also where some calls have no name; 2 for a file that cannot be read as what it should be, or
was recorded without --stacks. What is to be replaced then stays as it was.)";

void write_call_stacks(const export_options& options, const std::string& trace,
                       trace::trace_reader& reader, const trace::byte_sink& to) {
  if (reader.stacks().empty())
    throw input_error(
        fmt::format("'{}' has no calls to export: ashlar record --stacks records them", trace));
  const auto figure =
      trace::figure_named(options.figure.empty() ? "peak_space" : options.figure).value();
  constexpr std::size_t moments = 1;
  const trace::trace_summary summary = trace::summarise(reader, moments);
  trace::call_names names(reader);
  const auto write = options.format == "pprof" ? trace::write_pprof : trace::write_folded;
  write(reader, summary, names, figure, to);
  tell_missing_names(names.lost(), {});
}

void write_time_line(const std::string& trace, trace::trace_reader& reader,
                     const trace::byte_sink& to) {
  trace::call_names names(reader);
  const auto names_of = [&](const trace::stack_definition& stack) { return names.of(stack); };
  const nlohmann::json data = report::trace_data(reader, {trace, {}, names_of, site_for, {}});
  to(files::json_text(report::counter_tracks(data), -1));
  tell_missing_names(names.lost(), {});
}

void import(const export_options& options, const std::string& input, const trace::byte_sink& to) {
  std::ifstream from(input, std::ios::binary);
  if (!from) throw input_error(fmt::format("cannot read '{}': {}", input, std::strerror(errno)));
  if (options.from_heaptrack) return trace::read_heaptrack(from, input, ASHLAR_CLI_VERSION, to);
  trace::read_text(from, input, to);
}

// Returns: the exit status. Throws: command_error; nothing half-written is left.
int export_one(const export_options& options, const std::string& input) {
  const bool imports = options.from_text || options.from_heaptrack;
  const bool is_text = !imports && options.format == "text";
  if (!options.figure.empty() && (imports || is_text || options.format == "perfetto"))
    throw command_error(status_usage,
                        "--figure is for pprof and folded stacks: the others have all");
  const std::string output = options.output.empty() ? "-" : options.output;
  if (output == "-" && !is_text && ::isatty(STDOUT_FILENO) == 1)
    throw command_error(status_usage, "export: that is not for a terminal; name a file with -o");
  return with_trace_errors([&] {
    files::replaced_files files({input});
    files.prepare("-o", output);
    const trace::byte_sink to = [&](std::string_view bytes) { files.write(0, bytes); };
    if (imports) {
      import(options, input, to);
    } else {
      const auto reader = open_trace(input);
      if (is_text)
        trace::write_text(*reader, to);
      else if (options.format == "perfetto")
        write_time_line(input, *reader, to);
      else
        write_call_stacks(options, input, *reader, to);
    }
    files.commit();
    return 0;
  });
}

int export_command(const export_options& options) {
  if (options.traces.size() > 1 && (!options.symbols || !options.output.empty()))
    throw command_error(status_usage,
                        "export: there are several traces: only --symbols without -o "
                        "takes them");
  if (!options.symbols) return export_one(options, options.traces.front());
  for (const std::string& trace : options.traces) {
    const std::string& same = trace == "/dev/stdin" ? "-" : trace;
    const std::string& output = options.output.empty() ? same : options.output;
    if (!put_names_into_profile(trace, output)) put_names_into(trace, output);
  }
  return 0;
}

}  // namespace

void add_export(command_parser& to) {
  command& exported =
      to.add({"export", "A trace for pprof, flame graphs, Perfetto; as text; with its calls' names",
              "[OPTIONS] TRACE...", export_footer});
  const auto with = std::make_shared<export_options>();
  exported.arguments("TRACE", with->traces,
                     "What ashlar record wrote; with --from-..., what is to become one");
  exported.output(with->output, "Write to FILE (default: standard output; --symbols: TRACE)");
  exported.value(
      "--format", "pprof|folded|perfetto|text", with->format,
      "A profile for pprof (default), folded stacks for flame graph tools, a time line, or "
      "an event a line");
  exported.value("--figure",
                 "alloc_objects|alloc_space|inuse_objects|inuse_space|lifetime|peak_space",
                 with->figure, "What is shown first, or alone (default: peak_space)");
  const option text = exported.flag("--from-text", with->from_text,
                                    "TRACE is what --format text wrote: make a trace");
  const option heaptrack = exported
                               .flag("--from-heaptrack", with->from_heaptrack,
                                     "TRACE is an unpacked raw recording of heaptrack's")
                               .excludes(text);
  exported
      .flag("--symbols", with->symbols,
            "Put the names of the calls into the traces, or samples for pprof")
      .excludes(text)
      .excludes(heaptrack);
  exported.does([with] { return export_command(*with); });
}

}  // namespace ashlar::cli
