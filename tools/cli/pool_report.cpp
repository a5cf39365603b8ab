// tools/cli/pool_report.cpp. Layer: cli.
#include "tools/cli/pool_report.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <ashlar/core/stats_fields.hpp>

#include "tools/cli/table.hpp"
#include "tools/measure/rounds.hpp"

namespace ashlar::cli {

namespace {

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return fmt::format(
      "{:.1f} %", 100 * measure::ratio_to(static_cast<double>(part), static_cast<double>(whole)));
}

std::vector<column> columns_for(report_detail detail) {
  std::vector<column> columns{{"block"}, {"made"}, {"in use"}, {"peak"}, {"allocations"}};
  if (detail == report_detail::full) columns.push_back({"frees"});
  columns.push_back({"slack"});
  if (detail == report_detail::full) columns.push_back({"slabs"});
  columns.push_back({"committed"});
  columns.push_back({"peak bytes"});
  columns.push_back({"share", align::left});
  return columns;
}

std::vector<std::string> cells_of(const class_figures& figures, report_detail detail,
                                  const std::string& name) {
  std::vector<std::string> cells{
      name, format_count(figures.blocks_made), format_count(figures.blocks_in_use),
      format_count(figures.peak_in_use), format_count(figures.allocations)};
  if (detail == report_detail::full) cells.push_back(format_count(figures.frees));
  cells.push_back(format_bytes(figures.slack_bytes));
  if (detail == report_detail::full) cells.push_back(format_count(figures.slabs));
  cells.push_back(format_bytes(figures.committed_bytes));
  return cells;
}

// The classes to list, still by block size.
std::vector<class_figures> chosen_classes(const std::vector<class_figures>& classes,
                                          report_detail detail) {
  if (detail == report_detail::full || classes.size() <= summary_classes) return classes;
  std::vector<std::size_t> order(classes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const std::uint64_t bytes_a = classes[a].peak_bytes;
    const std::uint64_t bytes_b = classes[b].peak_bytes;
    return bytes_a != bytes_b ? bytes_a > bytes_b : a < b;
  });
  order.resize(summary_classes);
  std::ranges::sort(order);
  std::vector<class_figures> chosen;
  chosen.reserve(order.size());
  for (const std::size_t index : order) chosen.push_back(classes[index]);
  return chosen;
}

// The sum of every field (of block_size, too, which means nothing then).
class_figures sum_of(const std::vector<class_figures>& classes) {
  class_figures sum{};
  for (const class_figures& figures : classes)
    for (const auto& field : class_stats_fields) sum.*field.value += figures.*field.value;
  return sum;
}

class_figures difference(class_figures whole, const class_figures& part) {
  for (const auto& field : class_stats_fields) whole.*field.value -= part.*field.value;
  return whole;
}

std::string render_totals(const pool_statistics& statistics, report_detail detail,
                          report_moment moment) {
  const bool is_over = moment == report_moment::at_exit;
  const total_figures& total = statistics.total;
  std::string text;
  text +=
      fmt::format("  at peak    {} in blocks, {} committed\n",
                  format_bytes(total.peak_bytes_in_use), format_bytes(total.peak_committed_bytes));
  text += fmt::format(
      "  {:<10} {} in blocks ({} of it slack, {}), {} committed\n", is_over ? "at exit" : "now",
      format_bytes(total.bytes_in_use), format_bytes(total.slack_bytes),
      percent(total.slack_bytes, total.bytes_in_use), format_bytes(total.committed_bytes));
  text += fmt::format(
      "  beside     {} of tables and caches, {} given back to the system, {} thread{}\n",
      format_bytes(total.metadata_bytes), format_bytes(total.given_back_bytes), total.threads,
      total.threads == 1 ? "" : "s");
  if (detail == report_detail::full) {
    text += fmt::format("  calls      {} allocations, {} frees\n", format_count(total.allocations),
                        format_count(total.frees));
    text += fmt::format("  addresses  {} reserved; the whole process {} resident {}\n",
                        format_bytes(total.reserved_bytes), format_bytes(total.resident_bytes),
                        is_over ? "at exit" : "now");
  }
  if (!statistics.exact) {
    text += fmt::format(
        "  accuracy   batch: blocks in thread caches count as in use, calls that a cache served "
        "alone\n"
        "             are not counted, slack is an upper bound ({} counts every call)\n",
        is_over ? "--exact" : "ASHLAR_STATS=exact");
  }
  return text;
}

}  // namespace

std::string render_pool_report(const pool_statistics& statistics, report_detail detail, glyphs set,
                               report_moment moment) {
  const std::vector<class_figures>& all = statistics.classes;
  const std::vector<class_figures> listed = chosen_classes(all, detail);
  const class_figures sum = sum_of(all);
  const std::uint64_t all_peak_bytes = sum.peak_bytes + statistics.large.peak_bytes;

  table pools(columns_for(detail));
  const auto add_row = [&](const class_figures& figures, const std::string& name) {
    const double share = measure::ratio_to(static_cast<double>(figures.peak_bytes),
                                           static_cast<double>(all_peak_bytes));
    std::vector<std::string> cells = cells_of(figures, detail, name);
    cells.push_back(format_bytes(figures.peak_bytes));
    cells.push_back(fmt::format("{:>6} {}", percent(figures.peak_bytes, all_peak_bytes),
                                format_bar(share, bar_columns, set)));
    pools.add_row(std::move(cells));
  };
  for (const class_figures& figures : listed)
    add_row(figures, fmt::format("{} B", format_count(figures.block_size)));
  // What is not listed is still added up: no byte of the report is lost.
  if (listed.size() < all.size())
    add_row(difference(sum, sum_of(listed)), fmt::format("{} more", all.size() - listed.size()));
  if (statistics.large.allocations != 0 || detail == report_detail::full)
    add_row(statistics.large, "large");

  std::string text = pools.render(2);
  text += '\n';
  text += render_totals(statistics, detail, moment);
  if (listed.size() < all.size()) {
    text +=
        fmt::format("  listed     the {} classes with the most peak bytes (--stats lists all {})\n",
                    listed.size(), all.size());
  }
  return text;
}

std::string render_process_figures(const measure::child_outcome& outcome) {
  return fmt::format("wall {} s, user {} s, system {} s, peak RSS {}",
                     format_seconds(outcome.wall_seconds), format_seconds(outcome.user_seconds),
                     format_seconds(outcome.system_seconds), format_bytes(outcome.peak_rss_bytes));
}

}  // namespace ashlar::cli
