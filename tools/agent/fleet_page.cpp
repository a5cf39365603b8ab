// tools/agent/fleet_page.cpp. Layer: agent.
#include "tools/agent/fleet_page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include <fmt/format.h>

#include "tools/files/json.hpp"
#include "tools/trace/call_names.hpp"
#include "tools/trace/profile_fields.hpp"
#include "tools/trace/read_profile.hpp"

namespace ashlar::agent {
namespace {

using trace::read_profile;

constexpr std::size_t rows_max = 200;
constexpr std::size_t frames_shown = 24;

// A point that is missing is null.
nlohmann::json points(const std::vector<std::uint32_t>& kib) {
  nlohmann::json all = nlohmann::json::array();
  for (const std::uint32_t each : kib)
    all.push_back(each == process_hour::missing ? nlohmann::json() : nlohmann::json(each));
  return all;
}

std::uint64_t told(std::uint64_t figure) { return figure == not_told ? 0 : figure; }

}  // namespace

std::string fleet_json(const fleet_look& now, const fleet& all) {
  std::vector<const process_figures*> rows;
  rows.reserve(now.processes.size());
  for (const process_figures& each : now.processes) rows.push_back(&each);
  std::ranges::sort(rows, [](const auto* a, const auto* b) {
    return a->total.resident_bytes != b->total.resident_bytes
               ? a->total.resident_bytes > b->total.resident_bytes
               : a->socket.pid < b->socket.pid;
  });
  if (rows.size() > rows_max) rows.resize(rows_max);
  nlohmann::json processes = nlohmann::json::array();
  for (const process_figures* const each : rows) {
    const fleet::trend trend = all.trend_of(*each);
    processes.push_back({{"pid", each->socket.pid},
                         {"comm", each->facts.comm},
                         {"service", each->facts.service},
                         {"version", each->facts.version},
                         {"live_bytes", each->total.bytes_in_use},
                         {"held_bytes", each->total.committed_bytes},
                         {"limit_bytes", told(each->total.limit_bytes)},
                         {"limit_refusals", told(each->total.limit_refusals)},
                         {"resident_bytes", each->total.resident_bytes},
                         {"is_exact", each->total.accuracy == ASHLAR_ACCURACY_EXACT},
                         {"calls_per_second", std::llround(trend.calls_per_second)},
                         {"growth_per_minute", std::llround(trend.growth_per_minute)},
                         {"live_kib", points(trend.live_kib)},
                         {"resident_kib", points(trend.resident_kib)}});
  }
  return files::json_text({{"count", now.processes.size()},
                           {"silent", now.silent},
                           {"wrong", now.wrong},
                           {"left_out", now.left_out},
                           {"processes", std::move(processes)}});
}

std::string targets_json(const fleet_look& now, const std::string& address) {
  nlohmann::json targets = nlohmann::json::array();
  for (const process_figures& each : now.processes) {
    const std::string pid = std::to_string(each.socket.pid);
    targets.push_back({{"targets", nlohmann::json::array({address})},
                       {"labels",
                        {{"__profile_path__", "/debug/pprof/heap"},
                         {"__param_pid", pid},
                         {"pid", pid},
                         {"comm", each.facts.comm},
                         {"service", each.facts.service},
                         {"service_name", each.facts.service},  // as Pyroscope calls it
                         {"version", each.facts.version},
                         {"cgroup", each.facts.cgroup}}}});
  }
  return files::json_text(targets);
}

std::string sites_json(std::string_view profile, std::size_t rows) try {
  read_profile p = trace::parts_of_profile(profile);
  std::ranges::sort(p.stacks, [&](const auto& a, const auto& b) {
    return p.value(a, "inuse_space") > p.value(b, "inuse_space");
  });
  nlohmann::json sites = nlohmann::json::array();
  for (const read_profile::call_stack& each : p.stacks) {
    if (sites.size() == rows || p.value(each, "inuse_space") == 0) break;
    nlohmann::json frames = nlohmann::json::array();
    for (const std::uint64_t location : each.locations) {
      const auto& lines = p.locations[location].lines;
      if (lines.empty()) frames.push_back("?");
      for (const read_profile::line& line : lines) {
        const read_profile::function& in = p.functions[line.function];
        const std::string_view file = p.text(in.file);
        if (file.find("/include/c++/") != std::string_view::npos) continue;  // of std, and inlined
        std::string frame = trace::short_name(p.text(in.name));
        if (!file.empty())
          frame += fmt::format(" at {}:{}", file.substr(file.rfind('/') + 1), line.number);
        frames.push_back(std::move(frame));
      }
      if (frames.size() >= frames_shown) break;
    }
    sites.push_back({{"live_bytes", p.value(each, "inuse_space")},
                     {"live_blocks", p.value(each, "inuse_objects")},
                     {"allocated_bytes", p.value(each, "alloc_space")},
                     {"tag", p.text(each.tag)},
                     {"frames", std::move(frames)}});
  }
  return files::json_text({{"every_bytes", p.period}, {"sites", std::move(sites)}});
} catch (const trace::damaged_profile&) {
  return {};
}

}  // namespace ashlar::agent
