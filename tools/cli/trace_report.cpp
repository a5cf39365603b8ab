// tools/cli/trace_report.cpp. Layer: cli.
#include "tools/cli/trace_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/memory_report.hpp"
#include "tools/cli/table.hpp"
#include "tools/findings/call_owner.hpp"
#include "tools/measure/rounds.hpp"
#include "tools/trace/text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t text_moments = 20;
constexpr std::size_t largest_shown = 3;

bool is_of_pools(const trace_report& report) {
  return report.header.get(trace::header_name::options) == trace::options_of_pools;
}

double seconds_of(const trace_report& report, std::uint64_t ticks) {
  return static_cast<double>(ticks) / static_cast<double>(report.header.ticks_per_second());
}

struct events_of_kind {
  std::string_view name;
  std::uint64_t count = 0;
};
// Of all kinds, by their numbers.
std::vector<events_of_kind> events_by_kind(const trace::trace_summary& s) {
  std::vector<events_of_kind> all;
  for (std::size_t kind = 0; kind < s.events.size(); ++kind)
    if (const auto name = trace::name_of(static_cast<trace::event_kind>(kind)); !name.empty())
      all.push_back({name, s.events[kind]});
  return all;
}

std::uint64_t all_events(const trace::trace_summary& s) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : s.events) sum += count;
  return sum;
}

using sized = std::pair<std::uint64_t, trace::size_figures>;
std::uint64_t peak_bytes(const sized& s) { return s.first * s.second.peak; }

std::vector<sized> largest_sizes(const trace::trace_summary& s, std::size_t rows) {
  std::vector<sized> sizes(s.sizes.begin(), s.sizes.end());
  std::ranges::sort(sizes, [](const sized& a, const sized& b) {
    return std::pair(peak_bytes(b), a.first) < std::pair(peak_bytes(a), b.first);
  });
  if (sizes.size() > rows) sizes.resize(rows);
  return sizes;
}

std::string render_sizes(const trace_report& report, std::size_t rows, glyphs set) {
  const trace::trace_summary& s = report.summary;
  std::uint64_t all = 0;
  for (const auto& size : s.sizes) all += peak_bytes(size);
  table sizes(
      {{"size"}, {"births"}, {"peak"}, {"live at end"}, {"peak bytes"}, {"share", align::left}});
  for (const auto& [size, figures] : largest_sizes(s, rows)) {
    const std::uint64_t bytes = size * figures.peak;
    sizes.add_row({format_count(size), format_count(figures.births), format_count(figures.peak),
                   format_count(figures.live), format_bytes(bytes),
                   format_share(measure::ratio_to(bytes, all), set)});
  }
  return sizes.render(2);
}

std::string render_over_time(const trace_report& report, glyphs set) {
  const auto& all = report.summary.over_time;
  table moments({{"until, s"}, {"blocks"}, {"bytes"}, {"", align::left}});
  const std::size_t each = (all.size() + text_moments - 1) / text_moments;
  for (std::size_t i = 0; i < all.size(); i += each) {
    trace::moment_figures most;
    for (std::size_t j = i; j < std::min(i + each, all.size()); ++j) {
      most.end = all[j].end;
      most.bytes = std::max(most.bytes, all[j].bytes);
      most.blocks = std::max(most.blocks, all[j].blocks);
    }
    moments.add_row(
        {format_seconds(
             seconds_of(report, most.end - std::min(most.end, report.summary.first_time))),
         format_count(most.blocks), format_bytes(most.bytes),
         format_bar(measure::ratio_to(most.bytes, report.summary.peak_bytes), bar_columns, set)});
  }
  return moments.render(2);
}

std::string render_lifetimes(const trace_report& report, glyphs set) {
  static constexpr std::array names{"< 1 us",  "< 10 us",  "< 100 us", "< 1 ms",
                                    "< 10 ms", "< 100 ms", "< 1 s",    ">= 1 s"};
  const auto& counts = report.summary.lifetimes_by_decade;
  static_assert(names.size() == std::tuple_size_v<std::remove_cvref_t<decltype(counts)>>);
  table lives({{"lived", align::left}, {"blocks"}, {"share", align::left}});
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double part = measure::ratio_to(counts[i], report.summary.deaths);
    lives.add_row({names[i], format_count(counts[i]), format_share(part, set)});
  }
  return lives.render(2);
}

// "99.3 %". Near 100 there is no use in the digits.
std::string format_confidence(double share) {
  return share > 0.999 ? "> 99.9 %" : fmt::format("{:.1f} %", 100 * share);
}

std::string text_of(const report::call_site& site) {
  const std::string& name = site.function.empty() ? site.name : site.function;
  if (!site.source.empty()) return fmt::format("{} at {}", name, site.source);
  const std::string file = std::filesystem::path(site.module).filename().string();
  return site.function.empty() || file.empty() ? name : fmt::format("{} in {}", name, file);
}

std::string render_lines(const std::vector<site_line>& all) {
  table lines({{"at the peak"},
               {"at the end"},
               {"in all"},
               {"blocks"},
               {"temporaries"},
               {"line", align::left}});
  for (const auto& [site, figures] : all) {
    lines.add_row({format_bytes(figures.at_peak_bytes), format_bytes(figures.live_bytes),
                   format_bytes(figures.bytes), format_count(figures.births),
                   format_count(figures.temporaries), printable(text_of(site))});
  }
  return lines.render(2);
}

std::string render_sites(const trace_report& report) {
  std::string text;
  for (const call_site& site : report.sites) {
    text +=
        fmt::format("  {} at the peak, {} of {} in all\n", format_bytes(site.figures.at_peak_bytes),
                    counted(site.figures.births, "block"), format_bytes(site.figures.bytes));
    text += render_calls(site.calls);
  }
  return text;
}

// `rows`: how many call sites are listed.
std::string render_growth(const sites::growing_sites& growing, std::size_t rows) {
  std::string text;
  for (std::size_t i = 0; i < std::min(rows, growing.sites.size()); ++i) {
    const sites::growing_site& site = growing.sites[i];
    text += fmt::format("  {} a second: {} in {} s; confidence {}\n",
                        format_bytes(static_cast<std::uint64_t>(site.bytes_per_second)),
                        format_bytes(static_cast<std::uint64_t>(site.bytes)),
                        format_seconds(growing.seconds), format_confidence(site.how.confidence));
    text += render_calls(site.calls);
  }
  if (growing.sites.size() > rows)
    text += fmt::format("  and {} more (--rows {} lists them)\n",
                        format_count(growing.sites.size() - rows), growing.sites.size());
  return text;
}

nlohmann::json growth_json(const sites::growing_sites& growing) {
  nlohmann::json list = nlohmann::json::array();
  for (const sites::growing_site& site : growing.sites) {
    nlohmann::json each = calls_json(site.calls);
    each["bytes_per_second"] = site.bytes_per_second;
    each["bytes"] = site.bytes;
    each["tau"] = site.how.tau;
    each["confidence"] = site.how.confidence;
    list.push_back(std::move(each));
  }
  return {{"seconds", growing.seconds}, {"call_sites", std::move(list)}};
}

std::string render_totals(const trace_report& report) {
  const trace::trace_summary& s = report.summary;
  std::string kinds;
  for (const auto& [name, count] : events_by_kind(s))
    if (count != 0)
      kinds += fmt::format("{}{} {}", kinds.empty() ? ": " : ", ", format_count(count), name);
  std::string text = labelled_line(
      "events", fmt::format("{} in {} s{}", format_count(all_events(s)),
                            format_seconds(seconds_of(report, s.last_time - s.first_time)), kinds));
  text += labelled_line(
      "peak", fmt::format("{} at {} s; {} blocks at {} s", format_bytes(s.peak_bytes),
                          format_seconds(seconds_of(report, s.peak_bytes_time - s.first_time)),
                          format_count(s.peak_blocks),
                          format_seconds(seconds_of(report, s.peak_blocks_time - s.first_time))));
  text += labelled_line("at the end", fmt::format("{} in {} blocks", format_bytes(s.live_bytes),
                                                  format_count(s.live_blocks)));
  text += labelled_line(
      "sizes", fmt::format("{} different; {} asked for in all", format_count(s.sizes.size()),
                           format_bytes(s.birth_bytes)));
  text += labelled_line(
      "temporaries",
      fmt::format("{} of {} blocks were freed by the next call of their thread ({:.1f} %)",
                  format_count(s.temporaries), format_count(s.births),
                  100 * measure::ratio_to(s.temporaries, s.births)));
  text += labelled_line(
      "threads", fmt::format("{}; {} of {} deaths by another thread than the birth's ({:.1f} %)",
                             s.threads, format_count(s.cross_thread_deaths), format_count(s.deaths),
                             100 * measure::ratio_to(s.cross_thread_deaths, s.deaths)));
  if (report.header.get(trace::header_name::attached) == "1")
    text += labelled_line(
        "attached", "the process ran before; blocks that it had then are not among these figures");
  return text +
         some_line("unknown", s.unknown_deaths, "deaths of blocks from before the recording") +
         some_line("missing", s.missing_deaths, "deaths that the trace does not have") +
         some_line("lost", s.lost, "events") +
         some_line("refused", s.refused, "requests for which a pool had no block");
}

// Returns: the programs and libraries none of whose lines is known, though one holds a tenth of the
// peak, or has lost something. A script is none of them.
std::vector<std::string> modules_without_lines(
    const std::vector<site_line>& lines, std::uint64_t peak_bytes,
    const std::vector<trace::module_definition>& modules) {
  std::vector<std::string> without;
  for (const trace::module_definition& module : modules) {
    if (!findings::is_of_program({.name = {}, .file = {}, .line = 0, .module = module.path}))
      continue;  // lines of the C and C++ libraries tell nothing of the program
    const auto is_of_module = [&](const site_line& line) {
      return line.site.module == module.path;
    };
    const auto is_wanted = [&](const site_line& line) {
      return is_of_module(line) &&
             (line.figures.at_peak_bytes >= peak_bytes / 10 || line.figures.unreachable_bytes != 0);
    };
    const auto has_line = [&](const site_line& line) {
      return is_of_module(line) && !line.site.source.empty();
    };
    if (std::ranges::any_of(lines, is_wanted) && std::ranges::none_of(lines, has_line) &&
        std::ranges::find(without, module.path) == without.end())
      without.push_back(module.path);
  }
  return without;
}

}  // namespace

trace_report make_trace_report(trace::trace_reader& reader, trace::call_names& names,
                               const std::string& path, std::size_t sites, std::size_t moments,
                               const std::function<void(const trace::step&)>& also) {
  using figures = trace::stack_figures;
  trace_report report;
  report.path = path;
  report.header = reader.header();
  report.warning = reader.warning();
  report.summary = trace::summarise(reader, moments, also);
  name_mappings(report.summary, reader, names);
  const auto& stacks = report.summary.stacks;
  report.lines = site_lines(reader, stacks, names, sites);
  report.without_lines =
      modules_without_lines(report.lines, report.summary.peak_bytes, reader.modules());
  if (moments == 0) return report;
  report.sites = call_sites(reader, stacks, names, &figures::at_peak_bytes, sites);
  report.held = call_sites(reader, stacks, names, &figures::live_bytes, sites);
  report.growing = sites::find_growth(reader, report.summary.held, names);
  return report;
}

// What no pointer led to at exit, and the line that lost most of it; empty where nobody looked.
std::string lost_line(const trace_report& report) {
  const auto& look = report.summary.looked_at_exit;
  if (!look || !look->failure.empty()) return {};
  const trace::lost_blocks lost = trace::sum_of(look->lost);
  if (lost.blocks == 0) return "\n  lost at exit: nothing, a pointer leads to each block\n";
  std::string text = fmt::format("\n  lost at exit: {} in {} that no pointer leads to; most by\n",
                                 format_bytes(lost.bytes), counted(lost.blocks, "block"));
  const auto most = std::ranges::max_element(
      report.lines, {}, [](const site_line& line) { return line.figures.unreachable_bytes; });
  if (most != report.lines.end())
    text +=
        share_line(most->figures.unreachable_bytes, lost.bytes, printable(place_of(most->site)));
  if (const auto remark =
          report::remark_on_lost(report.summary.of_end.get(trace::header_name::program));
      !remark.empty())
    text += fmt::format("  {}\n", remark);
  return text;
}

namespace {

// Returns: what blocks had in memory at their peak, as far as is known.
std::uint64_t in_memory_of_blocks(const trace::trace_summary& s) {
  std::uint64_t bytes = s.peak_bytes;
  for (const auto& [stack, figures] : s.stacks)
    bytes += figures.resident_bytes - figures.at_peak_bytes;
  return bytes;
}

// Returns: the name of the call that holds most, if it is of an interpreter; else nothing.
std::string_view interpreters_holder(const trace_report& of) {
  if (of.lines.empty()) return {};
  const report::call_site& most = of.lines.front().site;
  const std::string file = most.source.substr(0, most.source.rfind(':'));
  return findings::is_of_interpreter({most.name, file, 0, most.module}) ? most.name
                                                                        : std::string_view();
}

std::string largest_line(const site_line& of, std::uint64_t in_memory) {
  const auto& [site, figures] = of;
  if (!is_notable(figures.resident_bytes, in_memory)) return {};
  std::string text = printable(place_of(site));
  if (figures.at_peak_bytes / 8 * 9 < figures.resident_bytes)
    text += fmt::format(", {} of it by alignment",
                        format_bytes(figures.resident_bytes - figures.at_peak_bytes));
  if (figures.resident_bytes / 8 * 9 < figures.at_peak_bytes)
    text += fmt::format(", and {} untouched",
                        format_bytes(figures.at_peak_bytes - figures.resident_bytes));
  return share_line(figures.resident_bytes, in_memory, text);
}

}  // namespace

std::string render_answer(const trace_report& report) {
  using namespace trace::header_name;
  // Firmware has neither words nor a process.
  const std::string words = shell_quoted(words_of_arguments(report.summary.of_peak.get(arguments)));
  const std::string process = printable(report.header.get(pid));
  std::string text = shortened(fmt::format("{}{}{}", report.path, words.empty() ? "" : ": ", words),
                               screen_columns) +
                     "\n";
  text += shortened(fmt::format("  {}{}{}", printable(report.summary.of_peak.get(program)),
                                process.empty() ? "" : ", process ", process),
                    screen_columns) +
          "\n";
  const trace::trace_summary& s = report.summary;
  text += render_memory(s.memory, report.summary.of_peak,
                        seconds_of(report, s.memory.time - std::min(s.memory.time, s.first_time)),
                        interpreters_holder(report));
  if (report.lines.empty()) return text;
  const std::uint64_t in_memory = in_memory_of_blocks(s);
  std::string largest;
  for (std::size_t i = 0; i < std::min(largest_shown, report.lines.size()); ++i)
    largest += largest_line(report.lines[i], in_memory);
  if (!largest.empty())
    text += fmt::format("\n  largest at the peak of {}, by {}\n{}", format_bytes(in_memory),
                        is_of_pools(report) ? "pool" : "line", largest);
  return text + lost_line(report);
}

std::string render_figures(const trace_report& report, std::size_t rows, bool is_full, glyphs set) {
  std::string text = render_totals(report);
  if (!report.lines.empty() && !is_of_pools(report))
    text += fmt::format("\n  lines of the program, the most in memory first\n\n{}",
                        render_lines(report.lines));
  if (!is_full && !report.lines.empty() && !is_of_pools(report)) return text;
  text += fmt::format("\n  sizes with the most bytes at their own peaks\n\n{}",
                      render_sizes(report, rows, set));
  text +=
      fmt::format("\n  most that lived at once, over time\n\n{}", render_over_time(report, set));
  text += fmt::format("\n  lifetimes of the blocks that died\n\n{}", render_lifetimes(report, set));
  if (!report.sites.empty())
    text += fmt::format("\n  {} with the most bytes at the peak\n\n{}",
                        is_of_pools(report) ? "pools" : "calls", render_sites(report));
  if (!report.held.empty())
    text += fmt::format("\n  still held at the end, the most bytes first\n\n{}",
                        render_held(report.held, true));
  if (!report.growing.sites.empty())
    text += fmt::format("\n  rising all through the run, the steepest first\n\n{}",
                        render_growth(report.growing, rows));
  return text;
}

nlohmann::json trace_report_json(const trace_report& report) {
  const trace::trace_summary& s = report.summary;
  nlohmann::json header = nlohmann::json::object();
  for (const auto& [name, value] : report.header.all()) header[name] = value;
  header["arguments"] = words_of_arguments(report.header.get(trace::header_name::arguments));
  nlohmann::json events = nlohmann::json::object();
  for (const auto& [name, count] : events_by_kind(s)) events[std::string(name)] = count;
  nlohmann::json sizes = nlohmann::json::array();
  for (const auto& [size, f] : s.sizes)
    sizes.push_back(
        {{"size", size}, {"births", f.births}, {"peak", f.peak}, {"live_at_end", f.live}});
  nlohmann::json lives = nlohmann::json::array();
  for (std::size_t i = 0; i < s.lifetimes.size(); ++i) {
    if (s.lifetimes[i] == 0) continue;
    lives.push_back({{"ticks_below", i == 0 ? 1 : std::pow(2.0, static_cast<double>(i))},
                     {"blocks", s.lifetimes[i]}});
  }
  nlohmann::json moments = nlohmann::json::array();
  for (const trace::moment_figures& m : s.over_time)
    moments.push_back({{"end", m.end}, {"bytes", m.bytes}, {"blocks", m.blocks}});
  nlohmann::json alignments = nlohmann::json::object();
  for (const auto& [alignment, births] : s.alignments)
    alignments[std::to_string(alignment)] = births;
  return {
      {"ashlar", ASHLAR_CLI_VERSION},
      {"schema", 1},
      {"report", "report"},
      {"trace", report.path},
      {"warning", report.warning},
      {"header", header},
      {"events", events},
      {"all_events", all_events(s)},
      {"first_time", s.first_time},
      {"last_time", s.last_time},
      {"threads", s.threads},
      {"births", s.births},
      {"birth_bytes", s.birth_bytes},
      {"deaths", s.deaths},
      {"cross_thread_deaths", s.cross_thread_deaths},
      {"unknown_deaths", s.unknown_deaths},
      {"missing_deaths", s.missing_deaths},
      {"temporaries", s.temporaries},
      {"lost", s.lost},
      {"peak",
       {{"bytes", s.peak_bytes},
        {"bytes_time", s.peak_bytes_time},
        {"blocks", s.peak_blocks},
        {"blocks_time", s.peak_blocks_time}}},
      {"memory",
       report::memory_json(
           s.memory,
           report::memory_rows_of(s.memory, report.summary.of_peak, interpreters_holder(report)),
           seconds_of(report, s.memory.time - std::min(s.memory.time, s.first_time)))},
      {"live_at_end", {{"bytes", s.live_bytes}, {"blocks", s.live_blocks}}},
      {"sizes", sizes},
      {"alignments", alignments},
      {"lifetimes", lives},
      {"over_time", moments},
      {"lines", site_lines_json(report.lines)},
      {"call_sites", call_sites_json(report.sites)},
      {"held_at_end", call_sites_json(report.held)},
      {"growing", growth_json(report.growing)}};
}

}  // namespace ashlar::cli
