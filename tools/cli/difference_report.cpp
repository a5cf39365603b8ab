// tools/cli/difference_report.cpp. Layer: cli.
#include "tools/cli/difference_report.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/call_sites.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/table.hpp"
#include "tools/cli/text.hpp"
#include "tools/findings/call_owner.hpp"

namespace ashlar::cli {

namespace {

using figures = trace::stack_figures;
using sites::compared_figures;

constexpr std::array<measure_text, 5> measures{{
    {"peak", "at the peak", "the bytes at the peak", &figures::at_peak_bytes, true},
    {"held", "held at the end", "the bytes held at the end", &figures::live_bytes, true},
    {"allocated", "allocated in all", "the bytes allocated in all", &figures::bytes, true},
    {"allocations", "allocations", "the allocations", &figures::births, false},
    {"temporaries", "temporaries", "the temporaries", &figures::temporaries, false},
}};

constexpr std::size_t calls_shown = 12;

// "+1.5 KiB", "-12".
std::string signed_change(const compared_figures& of, const measure_text& by) {
  const std::uint64_t change = of.change(by.figure);
  const char* const sign = change == 0 ? "" : of.grew(by.figure) ? "+" : "-";
  return sign + by.format(change);
}

// "+50.0 %"; empty where nothing was there before, or nothing changed.
std::string percent_change(const compared_figures& of, const measure_text& by) {
  const auto before = static_cast<double>(of.before.*by.figure);
  const auto after = static_cast<double>(of.after.*by.figure);
  return before == 0 || before == after ? "" : fmt::format("{:+.1f} %", 100 * (after / before - 1));
}

std::string render_side(std::string_view label, const difference_report::side& side) {
  const auto words = words_of_arguments(side.header.get(trace::header_name::arguments));
  return labelled_line(label, fmt::format("{}: {}, {} s", side.path, shell_quoted(words),
                                          format_seconds(side.seconds)));
}

std::string render_all(const difference_report& report) {
  table all({{"", align::left}, {"before"}, {"after"}, {"change"}, {""}});
  for (const measure_text& each : measures)
    all.add_row({std::string(each.label), each.format(report.found.all.before.*each.figure),
                 each.format(report.found.all.after.*each.figure),
                 signed_change(report.found.all, each), percent_change(report.found.all, each)});
  return all.render(2);
}

std::string render_site(const sites::compared_site& site, const measure_text& by, bool is_full) {
  std::string text = fmt::format("  {} {}", signed_change(site, by), by.label);
  if (site.is_new())
    text += ", new";
  else if (site.is_gone())
    text += ", gone";
  else
    text += fmt::format(", from {} to {}", by.format(site.before.*by.figure),
                        by.format(site.after.*by.figure));
  std::string others;
  for (const measure_text& each : measures)
    if (&each != &by && site.change(each.figure) != 0)
      others +=
          fmt::format("{}{} {}", others.empty() ? "" : "; ", each.label, signed_change(site, each));
  text += others.empty() ? "\n" : fmt::format("\n    ({})\n", others);
  if (site.calls.empty()) return text + "      calls that were not recorded\n";
  return text + (is_full ? render_calls(site.calls)
                         : render_calls(findings::folded(site.calls), calls_shown));
}

std::string render_sites(const difference_report& report, std::size_t rows, bool is_full) {
  std::string text;
  std::size_t shown = 0, changed = 0;
  for (const sites::compared_site& site : report.found.sites) {
    if (site.change(report.by.figure) == 0) continue;
    ++changed;
    if (shown == rows) continue;
    ++shown;
    text += render_site(site, report.by, is_full);
  }
  if (changed > shown)
    text += fmt::format("  {} changed (--rows {} lists them)\n",
                        counted(changed - shown, "more call site"), changed);
  const std::size_t all = report.found.sites.size() + report.found.equal_sites;
  if (all > changed)
    text += fmt::format("  {} call site{} as much as before\n", format_count(all - changed),
                        all - changed == 1 ? " has" : "s have");
  return text;
}

std::string render_sizes(const difference_report& report, std::size_t rows) {
  const measure_text& by = report.by;
  table sizes({{"size"}, {"before"}, {"after"}, {"change"}, {""}});
  std::size_t shown = 0;
  for (const sites::compared_size& size : report.found.sizes) {
    if (size.change(by.figure) == 0 || shown++ == rows) break;
    sizes.add_row({size.least == size.most
                       ? format_count(size.least)
                       : fmt::format("{} to {}", format_bytes(size.least), format_bytes(size.most)),
                   by.format(size.before.*by.figure), by.format(size.after.*by.figure),
                   signed_change(size, by), percent_change(size, by)});
  }
  return shown == 0 ? "" : sizes.render(2);
}

nlohmann::json over_time_json(const std::vector<live_stretch>& stretches) {
  nlohmann::json seconds = nlohmann::json::array();
  nlohmann::json live_bytes = nlohmann::json::array();
  for (const live_stretch& each : stretches) {
    seconds.push_back(each.end_seconds);
    live_bytes.push_back(each.bytes);
  }
  return {{"seconds", std::move(seconds)}, {"live_bytes", std::move(live_bytes)}};
}

nlohmann::json side_json(const difference_report::side& side, const figures& all) {
  nlohmann::json json = figures_json(all);
  json.update({{"trace", side.path},
               {"program", std::string(side.header.get(trace::header_name::program))},
               {"arguments", words_of_arguments(side.header.get(trace::header_name::arguments))},
               {"warning", side.warning},
               {"lost_events", side.lost_events},
               {"seconds", side.seconds},
               {"over_time", over_time_json(side.over_time)}});
  return json;
}

nlohmann::json compared_json(const compared_figures& of) {
  return {{"state", of.is_new()    ? "new"
                    : of.is_gone() ? "gone"
                                   : "in both"},
          {"before", figures_json(of.before)},
          {"after", figures_json(of.after)}};
}

nlohmann::json sizes_json(const std::vector<sites::compared_size>& sizes) {
  nlohmann::json list = nlohmann::json::array();
  for (const sites::compared_size& size : sizes) {
    list.push_back(compared_json(size));
    list.back().update({{"least", size.least}, {"most", size.most}});
  }
  return list;
}

nlohmann::json site_json(const compared_figures& figures,
                         const std::vector<trace::named_call>& calls) {
  nlohmann::json json = compared_json(figures);
  json.update(calls_json(calls));
  json["site"] = report::site_json(site_for(calls));
  json["site"]["through"] = called_by_line(calls);
  return json;
}

nlohmann::json sites_json(const std::vector<sites::compared_site>& sites) {
  nlohmann::json list = nlohmann::json::array();
  for (const sites::compared_site& site : sites) list.push_back(site_json(site, site.calls));
  return list;
}

bool is_small(const compared_figures& change, const compared_figures& all) {
  constexpr std::uint64_t part = 10'000;
  return std::ranges::all_of(measures, [&](const measure_text& each) {
    return change.change(each.figure) <
           std::max(all.before.*each.figure, all.after.*each.figure) / part;
  });
}

nlohmann::json large_sites_json(const sites::difference& found) {
  nlohmann::json list = nlohmann::json::array();
  compared_figures rest;
  std::size_t summed = 0;
  for (const sites::compared_site& site : found.sites) {
    if (is_small(site, found.all)) {
      rest += site;
      ++summed;
    } else {
      list.push_back(site_json(site, site.calls));
    }
  }
  if (summed == 0) return list;
  list.push_back(site_json(rest, {}));
  list.back()["site"]["name"] = "(smaller changes of " + counted(summed, "call site") + ")";
  return list;
}

nlohmann::json json_with(nlohmann::json call_sites, const difference_report& report) {
  return {{"ashlar", ASHLAR_CLI_VERSION},
          {"schema", 1},
          {"report", "diff"},
          {"by", std::string(report.by.name)},
          {"before", side_json(report.before, report.found.all.before)},
          {"after", side_json(report.after, report.found.all.after)},
          {"call_sites", std::move(call_sites)},
          {"equal_call_sites", report.found.equal_sites},
          {"sizes", sizes_json(report.found.sizes)},
          {"doublings", sizes_json(report.found.doublings)}};
}

}  // namespace

std::string measure_text::format(std::uint64_t value) const {
  return in_bytes ? format_bytes(value) : format_count(value);
}

const measure_text& measure_named(std::string_view name) {
  std::string names;
  for (const measure_text& each : measures) {
    if (each.name == name) return each;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  }
  throw command_error(status_usage, fmt::format("--by: '{}' is none of {}", name, names));
}

std::string render_difference(const difference_report& report, std::size_t rows, bool is_full) {
  std::string text = render_side("before", report.before) + render_side("after", report.after);
  text += "\n" + render_all(report);
  const std::string sites = render_sites(report, rows, is_full);
  const std::string sizes = render_sizes(report, rows);
  if (!sites.empty())
    text += fmt::format("\n  call sites by the change of {}\n\n{}", report.by.noun, sites);
  if (!sizes.empty())
    text += fmt::format("\n  sizes by the change of {}\n\n{}", report.by.noun, sizes);
  return text;
}

nlohmann::json difference_json(const difference_report& report) {
  return json_with(sites_json(report.found.sites), report);
}

nlohmann::json difference_page_data(const difference_report& report) {
  return json_with(large_sites_json(report.found), report);
}

}  // namespace ashlar::cli
