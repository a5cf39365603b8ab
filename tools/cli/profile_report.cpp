// tools/cli/profile_report.cpp. Layer: cli.
#include "tools/cli/profile_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/table.hpp"
#include "tools/measure/rounds.hpp"
#include "tools/profile/size_grid.hpp"

namespace ashlar::cli {

namespace {

// A size of the grid, with what asked for it.
struct step_figures {
  std::uint64_t size = 0, births = 0, deaths = 0, requested_bytes = 0, peak = 0;
};
std::uint64_t peak_bytes(const step_figures& of) { return of.size * of.peak; }

std::vector<step_figures> figures_of(const profiling::profile& runs) {
  std::vector<step_figures> all;
  for (std::size_t p = 0; p < runs.pools.size(); ++p) {
    const profiling::pool_row& row = runs.pools[p];
    all.push_back(
        {.size = profiling::pool_grid::size_of(row.step),
         .births = row.births,
         .deaths = std::accumulate(row.lifetimes.begin(), row.lifetimes.end(), std::uint64_t{0}),
         .requested_bytes = row.requested_bytes,
         .peak = runs.peaks.at(p, p)});
  }
  return all;
}

std::uint64_t requested_in_all(const std::vector<step_figures>& all) {
  std::uint64_t bytes = 0;
  for (const step_figures& of : all) bytes += of.requested_bytes;
  return bytes;
}

trace::log_histogram lifetimes_of(const profiling::profile& runs) {
  trace::log_histogram sum{};
  for (const profiling::pool_row& row : runs.pools)
    for (std::size_t digits = 0; digits < sum.size(); ++digits)
      sum[digits] += row.lifetimes[digits];
  return sum;
}

std::string render_totals(const profiling::profile& runs) {
  const std::vector<step_figures> all = figures_of(runs);
  std::string text = labelled_line(
      "runs", fmt::format("{} in {} s", format_count(runs.runs),
                          format_seconds(static_cast<double>(runs.nanoseconds) / 1e9)));
  text += labelled_line(
      "births", fmt::format("{} of {} sizes; {} asked for in all", format_count(runs.births()),
                            format_count(all.size()), format_bytes(requested_in_all(all))));
  text += labelled_line("deaths", format_count(runs.deaths()));
  text += labelled_line(
      "peak", fmt::format("{} of one run; {} blocks of one run", format_bytes(runs.peak_bytes),
                          format_count(runs.peak_blocks())));
  return text + some_line("left out", runs.left_out, "requests that no pool serves") +
         some_line("unknown", runs.unknown_deaths, "deaths of blocks from before the recording") +
         some_line("missing", runs.missing_deaths, "deaths that the traces do not have") +
         some_line("lost", runs.lost_events, "events") +
         some_line("refused", runs.refused_requests, "requests for which a pool had no block") +
         some_line("unfinished", runs.unfinished_runs, "runs whose traces have no end");
}

std::string render_sizes(const profiling::profile& runs, std::size_t rows, glyphs set) {
  std::vector<step_figures> sizes = figures_of(runs);
  std::uint64_t all = 0;
  for (const step_figures& of : sizes) all += peak_bytes(of);
  std::ranges::sort(sizes, [](const step_figures& a, const step_figures& b) {
    return std::pair(peak_bytes(b), a.size) < std::pair(peak_bytes(a), b.size);
  });
  if (sizes.size() > rows) sizes.resize(rows);
  table listed({{"size up to"}, {"births"}, {"peak"}, {"peak bytes"}, {"share", align::left}});
  for (const step_figures& of : sizes) {
    const double part = measure::ratio_to(peak_bytes(of), all);
    listed.add_row({format_count(of.size), format_count(of.births), format_count(of.peak),
                    format_bytes(peak_bytes(of)), format_share(part, set)});
  }
  return listed.render(2);
}

// A profile counts lifetimes by binary digits of nanoseconds; these are those next to powers of ten.
std::string render_lifetimes(const profiling::profile& runs, glyphs set) {
  struct bin {
    std::size_t digits;  // at most
    const char* name;
  };
  static constexpr std::array<bin, 8> bins{{{10, "< 1.02 us"},
                                            {13, "< 8.19 us"},
                                            {17, "< 131 us"},
                                            {20, "< 1.05 ms"},
                                            {23, "< 8.39 ms"},
                                            {27, "< 134 ms"},
                                            {30, "< 1.07 s"},
                                            {64, ">= 1.07 s"}}};
  const trace::log_histogram counts = lifetimes_of(runs);
  table lives({{"lived", align::left}, {"blocks"}, {"share", align::left}});
  std::size_t digits = 0;
  for (const bin& each : bins) {
    std::uint64_t blocks = 0;
    for (; digits <= each.digits; ++digits) blocks += counts[digits];
    const double part = measure::ratio_to(blocks, runs.deaths());
    lives.add_row({each.name, format_count(blocks), format_share(part, set)});
  }
  return lives.render(2);
}

}  // namespace

std::string render_profile_report(const profiling::profile& runs, const std::string& path,
                                  std::size_t rows, glyphs set) {
  return fmt::format(
      "{}: a profile\n\n{}\n  sizes with the most bytes at their own peaks\n\n{}\n"
      "  lifetimes of the blocks that died\n\n{}",
      path, render_totals(runs), render_sizes(runs, rows, set), render_lifetimes(runs, set));
}

nlohmann::json profile_report_json(const profiling::profile& runs, const std::string& path) {
  using nlohmann::json;
  json sizes = json::array();
  for (const step_figures& of : figures_of(runs))
    sizes.push_back({{"size", of.size},
                     {"births", of.births},
                     {"deaths", of.deaths},
                     {"requested_bytes", of.requested_bytes},
                     {"peak", of.peak}});
  json aligned = json::array();
  for (const profiling::aligned_row& row : runs.aligned)
    aligned.push_back({{"alignment", row.alignment},
                       {"size", profiling::pool_grid::size_of(row.step)},
                       {"smallest", row.smallest}});
  json heap = json::array();
  for (const profiling::heap_row& row : runs.heap)
    heap.push_back({{"size", profiling::heap_grid::size_of(row.step)},
                    {"alignment", row.alignment},
                    {"births", row.births},
                    {"blocks_at_peak", row.at_peak.blocks},
                    {"bytes_at_peak", row.at_peak.bytes},
                    {"mean_blocks", static_cast<double>(row.mean_1024.blocks) / 1024},
                    {"mean_bytes", static_cast<double>(row.mean_1024.bytes) / 1024}});
  json lives = json::array();
  const trace::log_histogram counts = lifetimes_of(runs);
  for (std::size_t digits = 0; digits < counts.size(); ++digits) {
    if (counts[digits] == 0) continue;
    lives.push_back({{"nanoseconds_below", std::pow(2.0, static_cast<double>(digits))},
                     {"blocks", counts[digits]}});
  }
  return {{"ashlar", ASHLAR_CLI_VERSION},
          {"schema", 1},
          {"report", "report"},
          {"profile", path},
          {"runs", runs.runs},
          {"unfinished_runs", runs.unfinished_runs},
          {"nanoseconds", runs.nanoseconds},
          {"births", runs.births()},
          {"birth_bytes", requested_in_all(figures_of(runs))},
          {"deaths", runs.deaths()},
          {"left_out", runs.left_out},
          {"unknown_deaths", runs.unknown_deaths},
          {"missing_deaths", runs.missing_deaths},
          {"lost", runs.lost_events},
          {"refused", runs.refused_requests},
          {"peak", {{"bytes", runs.peak_bytes}, {"blocks", runs.peak_blocks()}}},
          {"sizes", sizes},
          {"aligned", aligned},
          {"heap_sizes", heap},
          {"lifetimes", lives}};
}

}  // namespace ashlar::cli
