// tools/cli/replay_report.cpp. Layer: cli.
#include "tools/cli/replay_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "tools/cli/table.hpp"
#include "tools/measure/rounds.hpp"

namespace ashlar::cli {

namespace {

using json = nlohmann::json;

constexpr int replay_schema = 1;
constexpr std::array<const char*, replay::call_count> call_names{
    "malloc", "calloc", "aligned_alloc", "realloc", "free"};

template <class Figure>
measure::spread spread_over(const replay_outcome& outcome, Figure&& figure) {
  std::vector<double> figures;
  figures.reserve(outcome.samples.size());
  for (const replay_sample& s : outcome.samples) figures.push_back(static_cast<double>(figure(s)));
  return measure::spread_of(std::move(figures));
}
measure::spread wall_of(const replay_outcome& outcome) {
  return spread_over(outcome, [](const replay_sample& s) { return s.wall_seconds; });
}
measure::spread processor_of(const replay_outcome& outcome) {
  return spread_over(outcome,
                     [](const replay_sample& s) { return s.user_seconds + s.system_seconds; });
}
measure::spread peak_of(const replay_outcome& outcome) {
  return spread_over(outcome, [](const replay_sample& s) { return s.peak_rss_bytes; });
}
measure::spread final_of(const replay_outcome& outcome) {
  return spread_over(outcome, [](const replay_sample& s) { return s.final_rss_bytes; });
}

double millions_each_second(const replay_outcome& outcome) {
  return measure::ratio_to(static_cast<double>(outcome.script.header.operations) / 1e6,
                           processor_of(outcome).median);
}

double slack_percent_at_peak(const slack_summary& slack) {
  return 100 * measure::ratio_to(static_cast<double>(slack.usable_bytes_at_peak) -
                                     static_cast<double>(slack.peak_requested_bytes),
                                 slack.peak_requested_bytes);
}

std::string render_figures(const replay_report& report, glyphs set) {
  table figures(std::vector<column>{{"on", align::left},
                                    {"median", align::right, "wall, s"},
                                    {"range", align::right, "wall, s"},
                                    {"processor, s"},
                                    {"M/s"},
                                    {"peak", align::right, "RSS, MiB"},
                                    {"end", align::right, "RSS, MiB"},
                                    {"slack, %"},
                                    {"failed"},
                                    {"bad"}});
  for (const replay_outcome& o : report.outcomes) {
    if (o.samples.empty()) {
      figures.add_row({o.target.name, o.faults.worker.empty() ? "not run" : "failed"});
      continue;
    }
    const measure::spread wall = wall_of(o);
    figures.add_row(
        {o.target.name, format_seconds(wall.median),
         fmt::format("{}{}{}", format_seconds(wall.min), dash(set), format_seconds(wall.max)),
         format_seconds(processor_of(o).median), fmt::format("{:.1f}", millions_each_second(o)),
         format_mebibytes(peak_of(o).median), format_mebibytes(final_of(o).median),
         o.slack.known ? fmt::format("{:.1f}", slack_percent_at_peak(o.slack))
                       : std::string(dash(set)),
         format_count(o.faults.failures),
         format_count(o.faults.corrupted + o.faults.not_zero + o.faults.misaligned)});
  }
  return figures.render(2);
}

std::string render_latencies(const replay_report& report) {
  table latencies(std::vector<column>{{"latency, ns", align::left},
                                      {"on", align::left},
                                      {"calls"},
                                      {"p50"},
                                      {"p90"},
                                      {"p99"},
                                      {"p99.9"},
                                      {"p99.99"},
                                      {"longest"}});
  for (std::size_t c = 0; c < replay::call_count; ++c) {
    for (const replay_outcome& o : report.outcomes) {
      const latency_summary& l = o.latencies[c];
      if (l.calls == 0) continue;
      std::vector<std::string> cells{call_names[c], o.target.name, format_count(l.calls)};
      for (const std::uint64_t ns : l.percentiles_ns) cells.push_back(format_count(ns));
      cells.push_back(format_count(l.longest_ns));
      latencies.add_row(std::move(cells));
    }
  }
  return latencies.render(2);
}

std::string render_classes(const replay_outcome& o) {
  table classes(std::vector<column>{
      {"block"}, {"capacity"}, {"peak"}, {"requests"}, {"failed"}, {"slack, %"}});
  for (const replay::class_result& c : o.classes) {
    const std::uint64_t block_bytes = c.births * c.block_size;
    classes.add_row(
        {format_count(c.block_size), format_count(c.capacity), format_count(c.peak),
         format_count(c.births), format_count(c.failures),
         fmt::format("{:.1f}", 100 * measure::ratio_to(static_cast<double>(block_bytes) -
                                                           static_cast<double>(c.requested_bytes),
                                                       c.requested_bytes))});
  }
  std::uint64_t of_classes = 0;
  for (const replay::class_result& c : o.classes) of_classes += c.failures;
  const std::uint64_t unserved = o.faults.failures - std::min(o.faults.failures, of_classes);
  return fmt::format(
      "\n  {}\n\n{}{}", o.target.name, classes.render(2),
      unserved == 0 ? std::string{}
                    : fmt::format("  and {} requests that fit no class\n", format_count(unserved)));
}

std::string render_faults(const replay_outcome& o) {
  std::string text;
  const auto say = [&](std::uint64_t count, std::string_view what) {
    if (count != 0) text += fmt::format("  {}: {} {}\n", o.target.name, format_count(count), what);
  };
  if (!o.faults.worker.empty())
    text += fmt::format("  {}: the worker failed: {}\n", o.target.name, o.faults.worker);
  say(o.faults.failures, "requests got no block");
  say(o.faults.corrupted, "blocks were not as they had been written");
  if (!o.faults.first_corrupted.empty())
    text += fmt::format("  {}: the first: {}\n", o.target.name, o.faults.first_corrupted);
  say(o.faults.not_zero, "blocks of calloc were not zero");
  say(o.faults.misaligned, "blocks were not aligned as asked");
  return text;
}

std::string render_skipped(const replay::script_summary& script) {
  std::string text;
  const auto say = [&](std::uint64_t count, std::string_view what) {
    if (count != 0) text += fmt::format("  {} {}\n", format_count(count), what);
  };
  say(script.unknown_deaths, "deaths of blocks from before the recording: skipped");
  say(script.missing_deaths,
      "deaths that the trace does not have, of blocks whose address was born again: added");
  say(script.lost, "events lost by the recorder");
  return text;
}

// These pools did less than the others.
std::string render_left_out(const std::vector<replay_outcome>& outcomes) {
  std::string text;
  for (const replay_outcome& o : outcomes) {
    if (o.script.left_out == 0) continue;
    text += fmt::format("  {}: {} requests larger than the pools' --largest: left out\n",
                        o.target.name, format_count(o.script.left_out));
  }
  return text;
}

// What was executed where nothing was left out, or least.
const replay::script_summary& fullest_script(const std::vector<replay_outcome>& outcomes) {
  return std::ranges::min_element(outcomes,
                                  [](const replay_outcome& a, const replay_outcome& b) {
                                    return a.script.left_out < b.script.left_out;
                                  })
      ->script;
}

json spread_json(const measure::spread& s) {
  return {{"median", s.median}, {"min", s.min}, {"max", s.max}};
}

json latencies_json(const replay_outcome& o) {
  json all = json::object();
  for (std::size_t c = 0; c < replay::call_count; ++c) {
    const latency_summary& l = o.latencies[c];
    if (l.calls == 0) continue;
    json one{{"calls", l.calls}, {"longest_ns", l.longest_ns}};
    for (std::size_t i = 0; i < latency_shares.size(); ++i)
      one[fmt::format("p{:g}_ns", latency_shares[i] * 100)] = l.percentiles_ns[i];
    all[call_names[c]] = one;
  }
  return all;
}

json outcome_json(const replay_outcome& o) {
  const replay::script_summary& script = o.script;
  json one{{"on", o.target.name},
           {"library", o.target.library.empty() ? json() : json(o.target.library)},
           {"operations", script.header.operations},
           {"births", script.births},
           {"deaths", script.deaths},
           {"threads", script.header.threads},
           {"slots", script.header.slots},
           {"unknown_deaths", script.unknown_deaths},
           {"missing_deaths", script.missing_deaths},
           {"left_out", script.left_out},
           {"lost_events", script.lost},
           {"runs", o.samples.size()},
           {"failures", o.faults.failures},
           {"corrupted_blocks", o.faults.corrupted},
           {"not_zero_blocks", o.faults.not_zero},
           {"misaligned_blocks", o.faults.misaligned},
           {"first_corrupted",
            o.faults.first_corrupted.empty() ? json() : json(o.faults.first_corrupted)},
           {"worker_failure", o.faults.worker.empty() ? json() : json(o.faults.worker)}};
  if (!o.samples.empty()) {
    one["wall_seconds"] = spread_json(wall_of(o));
    one["processor_seconds"] = spread_json(processor_of(o));
    one["operations_per_processor_second"] = millions_each_second(o) * 1e6;
    one["peak_rss_bytes"] = spread_json(peak_of(o));
    one["final_rss_bytes"] = spread_json(final_of(o));
    one["waits"] = spread_json(spread_over(o, [](const replay_sample& s) { return s.waits; }));
    one["latencies"] = latencies_json(o);
    one["clock_ns"] = o.clock_ns;
  }
  if (o.slack.known) {
    one["slack"] = {{"requested_bytes", o.slack.requested_bytes},
                    {"usable_bytes", o.slack.usable_bytes},
                    {"peak_requested_bytes", o.slack.peak_requested_bytes},
                    {"usable_bytes_at_peak", o.slack.usable_bytes_at_peak}};
  }
  if (o.target.pools) {
    one["classes"] = json::array();
    for (const replay::class_result& c : o.classes)
      one["classes"].push_back({{"block_size", c.block_size},
                                {"alignment", c.alignment},
                                {"capacity", c.capacity},
                                {"peak", c.peak},
                                {"requests", c.births},
                                {"served", c.served},
                                {"failures", c.failures},
                                {"requested_bytes", c.requested_bytes}});
  }
  return one;
}

}  // namespace

std::string render_replay(const replay_report& report, glyphs set) {
  const replay::script_summary& script = fullest_script(report.outcomes);
  std::string text =
      fmt::format("{}: {} births, {} deaths; {}, at most {} at once\n{}{}\n", report.trace,
                  format_count(script.births), format_count(script.deaths),
                  counted(script.header.threads, "thread"), script.header.most_threads_at_once,
                  render_skipped(script), render_left_out(report.outcomes));
  text += render_figures(report, set) + "\n" + render_latencies(report);
  for (const replay_outcome& o : report.outcomes)
    if (!o.classes.empty()) text += render_classes(o);
  std::string faults;
  for (const replay_outcome& o : report.outcomes) faults += render_faults(o);
  if (!faults.empty()) text += "\n" + faults;
  if (report.stopped_by != 0)
    text += fmt::format("\n  ended early by {}: this is what had been measured by then\n",
                        measure::signal_name(report.stopped_by));
  return text;
}

json replay_json(const replay_report& report) {
  json all{{"ashlar", ASHLAR_CLI_VERSION},
           {"schema", replay_schema},
           {"report", "replay"},
           {"trace", report.trace},
           {"rounds", report.plan.rounds},
           {"seed", report.plan.seed},
           {"touch", report.plan.touch_all ? "all" : "ends"},
           {"complete", report.stopped_by == 0},
           {"outcomes", json::array()}};
  for (const replay_outcome& o : report.outcomes) all["outcomes"].push_back(outcome_json(o));
  return all;
}

}  // namespace ashlar::cli
