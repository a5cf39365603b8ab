// tools/cli/commands/export.cpp: `ashlar export`: a trace in the formats of other tools and as text,
// text as a trace, and the names of its calls in it. Layer: cli.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/cli/call_sites.hpp"
#include "tools/cli/commands/commands.hpp"
#include "tools/cli/debug_hints.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_files.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/files/text.hpp"
#include "tools/report/counter_tracks.hpp"
#include "tools/report/trace_data.hpp"
#include "tools/trace/call_names.hpp"
#include "tools/trace/exported_profile.hpp"
#include "tools/trace/step_counts.hpp"
#include "tools/trace/text.hpp"

namespace ashlar::cli {
namespace {

struct export_options {
  std::vector<std::string> traces;  // several of --symbols alone
  std::string output;               // empty: standard output; of --symbols each trace is replaced
  std::string format = "pprof";
  std::string figure;  // empty: peak_space
  bool from_text = false, symbols = false;
};

constexpr const char* export_footer =
    R"(A figure is alloc_objects, alloc_space, inuse_objects and inuse_space (at the trace's end), lifetime
(nanoseconds, of all blocks together) or peak_space (bytes when most were in use). A profile has all of them,
and FIGURE is the one that pprof shows first. Folded stacks, and what speedscope reads, have FIGURE alone.

The time line is in the Trace Event Format: live bytes, live blocks, and what the 24 call sites held that held
most. A trace without calls has the first two.

A trace with names (--symbols) is read the same on any machine, and after the program was built again. Do
this where the program ran, before you build it again: ashlar record --symbols does it at once. In a profile,
go tool pprof finds no C++ names by itself.

Examples:
  ashlar export run.atrace -o run.pb && pprof -http=: run.pb
  ashlar export --format folded --figure alloc_space run.atrace -o run.folded && flamegraph.pl run.folded
  ashlar export --format speedscope run.atrace -o run.speedscope.json
  ashlar export --format dhat run.atrace -o run.dhat         # then open it in Valgrind's dh_view.html
  ashlar export --format perfetto run.atrace -o run.json     # then open it at ui.perfetto.dev
  ashlar export --format text run.atrace > run.txt
  ashlar export --from-text run.txt -o run.atrace
  ashlar export --symbols run.atrace
  ashlar export --symbols heap.pb && go tool pprof -top heap.pb

Exit status: 0, also where some calls have no name; 2 for a file that cannot be read as what it should be, or
was recorded with --no-stacks. What is to be replaced then stays as it was.)";

// Effects: writes speedscope's file format (https://www.speedscope.app/file-format-schema.json): a
// sample for each sequence of calls, which weighs its figure.
void write_speedscope(const trace::trace_reader& reader, const trace::trace_summary& of,
                      trace::call_names& names, trace::profile_figure figure,
                      const trace::byte_sink& to) {
  const std::string_view name = trace::profile_figure_names[static_cast<std::size_t>(figure)];
  std::unordered_map<std::string, std::size_t> numbers;  // of frames
  nlohmann::json frames = nlohmann::json::array();
  nlohmann::json samples = nlohmann::json::array();
  nlohmann::json weights = nlohmann::json::array();
  std::uint64_t sum = 0;
  trace::write_folded(reader, of, names, figure, [&](std::string_view line) {
    const std::size_t space = line.rfind(' ');
    const auto weight = std::stoull(std::string(line.substr(space + 1)));
    std::vector<std::size_t> sample;
    for (const std::string_view call : files::parts_of(line.substr(0, space), ';')) {
      const auto [number, is_new] = numbers.try_emplace(std::string(call), numbers.size());
      if (is_new) frames.push_back({{"name", call}});
      sample.push_back(number->second);
    }
    samples.push_back(std::move(sample));
    weights.push_back(weight);
    sum += weight;
  });
  const char* const unit = name.ends_with("space") ? "bytes"
                           : name == "lifetime"    ? "nanoseconds"
                                                   : "none";
  const nlohmann::json profile = {{"type", "sampled"},
                                  {"name", name},
                                  {"unit", unit},
                                  {"startValue", 0},
                                  {"endValue", sum},
                                  {"samples", std::move(samples)},
                                  {"weights", std::move(weights)}};
  to(files::json_text({{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                       {"exporter", "ashlar@" ASHLAR_CLI_VERSION},
                       {"name", std::string(reader.header().get(trace::header_name::program))},
                       {"activeProfileIndex", 0},
                       {"shared", {{"frames", std::move(frames)}}},
                       {"profiles", nlohmann::json::array({profile})}},
                      -1));
}

// Effects: writes what dh_view.html of Valgrind reads: of each sequence of calls, the innermost first,
// its blocks in all, at its own peak, at the program's and at the end. Requires: the trace has calls.
void write_dhat(trace::trace_reader& reader, trace::call_names& names, const trace::byte_sink& to) {
  using trace::step;
  struct point {
    std::uint64_t births = 0, bytes = 0;
    std::int64_t most_bytes = 0, blocks_then = 0;
    std::uint64_t ticks = 0;  // that its blocks lived, modulo 2^64 until the end is added
  };
  std::vector<point> points;
  trace::marked_counts held(0);  // of each point its bytes, then its blocks; marked at the peak
  std::unordered_map<std::string, std::size_t> numbers;  // of frames
  nlohmann::json frames = nlohmann::json::array({"[root]"});
  std::map<std::vector<std::size_t>, std::size_t> places;  // of points: no two have the same calls
  const auto place_of = [&](const std::vector<std::string>& calls) {
    std::vector<std::size_t> sequence;
    sequence.reserve(calls.size());
    for (const std::string& call : calls) {
      const auto [number, is_new] = numbers.try_emplace(call, frames.size());
      if (is_new) frames.push_back(call);
      sequence.push_back(number->second);
    }
    const auto [place, is_new] = places.try_emplace(std::move(sequence), points.size());
    if (is_new) {
      points.emplace_back();
      held.add_count();
      held.add_count();
    }
    return place->second;
  };
  std::unordered_map<std::uint32_t, std::size_t> place_of_stack;
  for (const trace::stack_definition& stack : reader.stacks()) {
    std::vector<std::string> calls;
    for (const trace::named_call& call : names.of(stack)) calls.push_back(call.text());
    place_of_stack[stack.number] = place_of(calls);
  }

  trace::step_counts all;
  trace::lifetimes steps(reader);
  const std::uint64_t begin = reader.times().first;
  std::uint64_t end = begin;
  for (step s; steps.next(s);) {
    end = std::max(end, s.time);
    const bool is_peak = all.count(s);
    const bool is_birth = s.happened == step::what::birth;
    if (!is_birth && s.happened != step::what::death) continue;
    const auto known = place_of_stack.find(s.stack);
    const std::size_t place =
        known != place_of_stack.end() ? known->second : place_of({"[call stack not recorded]"});
    point& at = points[place];
    const auto size = static_cast<std::int64_t>(s.size);
    held.add(2 * place, is_birth ? size : -size);
    held.add(2 * place + 1, is_birth ? 1 : -1);
    if (is_birth) {
      ++at.births;
      at.bytes += s.size;
      at.ticks -= s.time;
      if (held.now(2 * place) > at.most_bytes) {
        at.most_bytes = held.now(2 * place);
        at.blocks_then = held.now(2 * place + 1);
      }
    } else {
      at.ticks += std::max(s.time, s.born_at);
    }
    if (is_peak) held.mark();
  }

  const double ticks_per_microsecond = static_cast<double>(reader.ticks_per_second()) / 1e6;
  const auto microseconds = [&](std::uint64_t ticks) {
    return static_cast<std::uint64_t>(static_cast<double>(ticks) / ticks_per_microsecond);
  };
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [sequence, place] : places) {
    const point& p = points[place];
    if (p.births == 0) continue;
    const std::int64_t blocks = held.now(2 * place + 1);
    list.push_back({{"tb", p.bytes},
                    {"tbk", p.births},
                    {"tl", microseconds(p.ticks + static_cast<std::uint64_t>(blocks) * end)},
                    {"mb", p.most_bytes},
                    {"mbk", p.blocks_then},
                    {"gb", held.at_mark(2 * place)},
                    {"gbk", held.at_mark(2 * place + 1)},
                    {"eb", held.now(2 * place)},
                    {"ebk", blocks},
                    {"fs", sequence}});
  }
  using namespace trace::header_name;
  constexpr std::uint64_t short_lived_microseconds = 10;
  to(files::json_text(
      {{"ashlar", ASHLAR_CLI_VERSION},
       {"dhatFileVersion", 2},
       {"mode", "ashlar"},
       {"verb", "Allocated"},
       {"bklt", true},    // lifetimes are known,
       {"bkacc", false},  // accesses are not
       {"tu", "µs"},
       {"Mtu", "s"},
       {"tuth", short_lived_microseconds},
       {"cmd", shell_quoted(words_of_arguments(reader.header().get(arguments)))},
       {"pid", reader.header().number(pid, 0)},
       {"tg", microseconds(all.peak_bytes_time - std::min(all.peak_bytes_time, begin))},
       {"te", std::max<std::uint64_t>(1, microseconds(end - begin))},
       {"pps", std::move(list)},
       {"ftbl", std::move(frames)}},
      -1));
}

void write_call_stacks(const export_options& options, const std::string& trace,
                       trace::trace_reader& reader, const trace::byte_sink& to) {
  if (reader.stacks().empty())
    throw input_error(
        fmt::format("'{}' has no calls to export: record it without --no-stacks", trace));
  trace::call_names names(reader);
  if (options.format == "dhat") {
    write_dhat(reader, names, to);
    return tell_missing_names(names.lost(), {});
  }
  const auto figure =
      trace::figure_named(options.figure.empty() ? "peak_space" : options.figure).value();
  constexpr std::size_t moments = 1;
  const trace::trace_summary summary = trace::summarise(reader, moments);
  const auto write = options.format == "pprof"    ? trace::write_pprof
                     : options.format == "folded" ? trace::write_folded
                                                  : write_speedscope;
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

void import(const std::string& input, const trace::byte_sink& to) {
  std::ifstream from(input, std::ios::binary);
  if (!from) throw input_error(fmt::format("cannot read '{}': {}", input, std::strerror(errno)));
  trace::read_text(from, input, to);
}

// Returns: the exit status. Throws: command_error; nothing half-written is left.
int export_one(const export_options& options, const std::string& input) {
  const bool is_text = !options.from_text && options.format == "text";
  if (!options.figure.empty() &&
      (options.from_text || is_text || options.format == "perfetto" || options.format == "dhat"))
    throw command_error(status_usage,
                        "--figure is for pprof and folded stacks: the others have all");
  const std::string output = options.output.empty() ? "-" : options.output;
  if (output == "-" && !is_text && ::isatty(STDOUT_FILENO) == 1)
    throw command_error(status_usage, "export: that is not for a terminal; name a file with -o");
  return with_trace_errors([&] {
    files::replaced_files files({input});
    files.prepare("-o", output);
    const trace::byte_sink to = [&](std::string_view bytes) { files.write(0, bytes); };
    if (options.from_text) {
      import(input, to);
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
                     "What ashlar record wrote; with --from-text, what is to become one");
  exported.output(with->output, "Write to FILE (default: standard output; --symbols: TRACE)");
  exported.value(
      "--format", "pprof|folded|speedscope|dhat|perfetto|text", with->format,
      "A profile for pprof (default), folded stacks for flame graph tools, a profile for "
      "speedscope or for DHAT's viewer, a time line, or an event a line");
  exported.value("--figure",
                 "alloc_objects|alloc_space|inuse_objects|inuse_space|lifetime|peak_space",
                 with->figure, "What is shown first, or alone (default: peak_space)");
  const option text = exported.flag("--from-text", with->from_text,
                                    "TRACE is what --format text wrote: make a trace");
  exported
      .flag("--symbols", with->symbols,
            "Put the names of the calls into the traces, or samples for pprof")
      .excludes(text);
  exported.does([with] { return export_command(*with); });
}

}  // namespace ashlar::cli
