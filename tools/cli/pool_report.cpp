// tools/cli/pool_report.cpp. Layer: cli.
#include "tools/cli/pool_report.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/table.hpp"
#include "tools/files/json.hpp"
#include "tools/measure/rounds.hpp"

namespace ashlar::cli {

namespace {

using files::count_at;

constexpr unsigned known_schema = 1;

template <class Figures, std::size_t N>
Figures figures_from(const nlohmann::json& object, const stats_field<Figures> (&fields)[N]) {
  Figures figures{};
  for (const auto& field : fields) figures.*field.value = files::count_or(object, field.name, 0);
  return figures;
}

template <class Figures, std::size_t N>
nlohmann::json figures_json(const Figures& figures, const stats_field<Figures> (&fields)[N]) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& field : fields) json[field.name] = figures.*field.value;
  return json;
}

// Effects: appends the entries of the list, with their names, if there is one.
template <class Figures, std::size_t N>
void read_named(const nlohmann::json& document, const char* list, const char* label,
                const stats_field<Figures> (&fields)[N],
                std::vector<std::pair<std::string, Figures>>& into) {
  if (const auto found = document.find(list); found != document.end())
    for (const nlohmann::json& entry : *found)
      into.emplace_back(entry.at(label).get<std::string>(), figures_from(entry, fields));
}

}  // namespace

pool_statistics parse_pool_statistics(const std::string& text, const std::string& origin) {
  pool_statistics statistics;
  try {
    statistics.document = nlohmann::json::parse(text);
    const nlohmann::json& document = statistics.document;
    const std::uint64_t schema = count_at(document, "schema");
    if (schema != known_schema) {
      throw command_error(
          status_failed,
          fmt::format("{} has schema {}, this ashlar reads schema {}: use the ashlar "
                      "command and the library of one build",
                      origin, schema, known_schema));
    }
    document.at("ashlar").get_to(statistics.version);
    statistics.exact = document.at("accuracy").get<std::string>() == "exact";
    statistics.pid = static_cast<pid_t>(count_at(document, "pid"));
    document.at("command").get_to(statistics.command);
    statistics.total = figures_from(document.at("total"), total_stats_fields);
    statistics.large = figures_from(document.at("large"), class_stats_fields);
    for (const nlohmann::json& entry : document.at("classes")) {
      statistics.classes.push_back(figures_from(entry, class_stats_fields));
    }
    read_named(document, "heaps", "heap", named_heap_stats_fields, statistics.heaps);
    read_named(document, "tags", "tag", tag_stats_fields, statistics.tags);
  } catch (const nlohmann::json::exception& error) {
    throw command_error(status_failed, fmt::format("{} is damaged or incomplete ({})", origin,
                                                   files::reason_of(error)));
  }
  std::ranges::sort(statistics.classes, {}, &class_figures::block_size);
  return statistics;
}

pool_statistics pool_statistics_of(const std::string& bytes, pid_t pid, const std::string& command,
                                   const std::string& origin) {
  ashlar_stats stats{};
  if (bytes.size() != sizeof stats) {
    throw command_error(status_failed,
                        fmt::format("{} has {} bytes and not {}: use the ashlar command and the "
                                    "libraries of one build",
                                    origin, bytes.size(), sizeof stats));
  }
  std::memcpy(&stats, bytes.data(), sizeof stats);
  nlohmann::json classes = nlohmann::json::array();
  for (std::size_t i = 0; i < std::min<std::size_t>(stats.class_count, ASHLAR_MAX_CLASSES); ++i)
    if (stats.classes[i].allocations != 0)  // only those that were used, as the library does
      classes.push_back(figures_json(stats.classes[i], class_stats_fields));
  const nlohmann::json document{
      {"ashlar", ASHLAR_CLI_VERSION},
      {"schema", known_schema},
      {"accuracy", stats.total.accuracy == ASHLAR_ACCURACY_EXACT ? "exact" : "batch"},
      {"pid", static_cast<std::uint64_t>(pid)},
      {"command", command},
      {"total", figures_json(stats.total, total_stats_fields)},
      {"large", figures_json(stats.large, class_stats_fields)},
      {"classes", classes}};
  return parse_pool_statistics(files::json_text(document), origin);
}

namespace {

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{:.1f} %", 100 * measure::ratio_to(part, whole));
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
  text += fmt::format("  beside     {} of tables and caches, {} given back to the system, {}\n",
                      format_bytes(total.metadata_bytes), format_bytes(total.given_back_bytes),
                      counted(total.threads, "thread"));
  for (const auto& [name, heap] : statistics.heaps)
    text += fmt::format("  heap       {}{}: {} in blocks, {} committed, budget {}\n",
                        printable(name), heap.heaps == 1 ? "" : fmt::format(" x {}", heap.heaps),
                        format_bytes(heap.bytes_in_use), format_bytes(heap.committed_bytes),
                        heap.budget_bytes == 0 ? "none" : format_bytes(heap.budget_bytes));
  for (const auto& [name, tag] : statistics.tags)
    text += fmt::format("  tag        {}: {}", printable(name), render_tag(tag));
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
    const double share = measure::ratio_to(figures.peak_bytes, all_peak_bytes);
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
    text += fmt::format(
        "  listed     the {} block sizes with the most peak bytes (--stats lists all {})\n",
        listed.size(), all.size());
  }
  return text;
}

std::string render_tag(const tag_stats& tag) {
  return fmt::format("{} live, give or take {}, limit {}\n", format_bytes(tag.live_bytes),
                     format_bytes(tag.live_error_bytes),
                     tag.limit_bytes == 0 ? "none" : format_bytes(tag.limit_bytes));
}

std::string render_process_figures(const measure::child_outcome& outcome) {
  return fmt::format("wall {} s, user {} s, system {} s, peak RSS {}",
                     format_seconds(outcome.wall_seconds), format_seconds(outcome.user_seconds),
                     format_seconds(outcome.system_seconds), format_bytes(outcome.peak_rss_bytes));
}

}  // namespace ashlar::cli
