// tools/cli/commands/export.cpp: `ashlar export`: a trace in the formats of other tools. Layer: cli.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include <fmt/format.h>

#include "tools/cli/call_sites.hpp"
#include "tools/cli/commands/commands.hpp"
#include "tools/cli/debug_hints.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/report/counter_tracks.hpp"
#include "tools/report/trace_data.hpp"
#include "tools/trace/call_names.hpp"
#include "tools/trace/exported_profile.hpp"

namespace ashlar::cli {
namespace {

struct export_options {
  std::string trace;
  std::string output;
  std::string format = "pprof";
  std::string figure;  // empty: peak_space
};

constexpr const char* export_footer =
    R"(A figure is alloc_objects, alloc_space, inuse_objects and inuse_space (at the trace's end), lifetime
(nanoseconds, of all blocks together) or peak_space (bytes when most were in use). A profile has all of them,
and FIGURE is the one that pprof shows first. Folded stacks have FIGURE alone.

The time line is in the Trace Event Format: live bytes, live blocks, and what the 24 call sites held that held
most. A trace without calls has the first two.

Examples:
  ashlar export run.atrace -o run.pb && pprof -http=: run.pb
  ashlar export --format folded --figure alloc_space run.atrace -o run.folded && flamegraph.pl run.folded
  ashlar export --format perfetto run.atrace -o run.json     # then open it at ui.perfetto.dev

Exit status: 0; 2 for what is no trace, is damaged, or was recorded without --stacks.)";

void write_call_stacks(const export_options& options, trace::trace_reader& reader,
                       files::replaced_files& files) {
  if (reader.stacks().empty())
    throw input_error(fmt::format(
        "'{}' has no calls to export: ashlar record --stacks records them", options.trace));
  const auto figure =
      trace::figure_named(options.figure.empty() ? "peak_space" : options.figure).value();
  constexpr std::size_t moments = 1;
  const trace::trace_summary summary = trace::summarise(reader, moments);
  trace::call_names names(reader);
  const auto write = options.format == "pprof" ? trace::write_pprof : trace::write_folded;
  write(reader, summary, names, figure, [&](std::string_view bytes) { files.write(0, bytes); });
  tell_missing_names(names.lost(), {});
}

void write_time_line(const export_options& options, trace::trace_reader& reader,
                     files::replaced_files& files) {
  if (!options.figure.empty())
    throw command_error(status_usage,
                        "--figure is for pprof and folded stacks: a time line has all");
  trace::call_names names(reader);
  const auto names_of = [&](const trace::stack_definition& stack) { return names.of(stack); };
  const nlohmann::json data =
      report::trace_data(reader, {options.trace, {}, names_of, site_for, {}});
  files.write(0, files::json_text(report::counter_tracks(data), -1));
  tell_missing_names(names.lost(), {});
}

int export_command(const export_options& options) {
  return with_trace_errors([&] {
    files::replaced_files files({options.trace});
    files.prepare("-o", options.output);
    const auto reader = open_trace(options.trace);
    const auto write = options.format == "perfetto" ? write_time_line : write_call_stacks;
    write(options, *reader, files);
    files.commit();
    return 0;
  });
}

}  // namespace

void add_export(command_parser& to) {
  command& exported = to.add({"export", "A trace for pprof, flame graphs or Perfetto",
                              "[OPTIONS] -o FILE TRACE", export_footer});
  const auto with = std::make_shared<export_options>();
  exported.argument("TRACE", with->trace, "What ashlar record --stacks wrote");
  exported.output(with->output, "Write to FILE").required();
  exported.value(
      "--format", "pprof|folded|perfetto", with->format,
      "A profile for pprof (default), folded stacks for flame graph tools, or a time line");
  exported.value("--figure",
                 "alloc_objects|alloc_space|inuse_objects|inuse_space|lifetime|peak_space",
                 with->figure, "What is shown first, or alone (default: peak_space)");
  exported.does([with] { return export_command(*with); });
}

}  // namespace ashlar::cli
