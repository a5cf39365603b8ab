// tools/agent/fleet_page.cpp. Layer: agent.
#include "tools/agent/fleet_page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/files/json.hpp"
#include "tools/trace/profile_fields.hpp"

namespace ashlar::agent {
namespace {

constexpr std::size_t rows_max = 200;
constexpr std::size_t frames_shown = 24;

// A point that is missing is null.
nlohmann::json points(const std::vector<std::uint32_t>& kib) {
  nlohmann::json all = nlohmann::json::array();
  for (const std::uint32_t each : kib)
    all.push_back(each == process_hour::missing ? nlohmann::json() : nlohmann::json(each));
  return all;
}

struct call_stack {
  std::vector<std::uint64_t> locations;
  std::vector<std::uint64_t> values;
  std::uint64_t tag = 0;  // a text, the empty one where it has none
};

struct read_profile {
  std::vector<std::string_view> texts;
  std::vector<std::uint64_t> types;                               // texts
  std::map<std::uint64_t, std::uint64_t> functions;               // id -> text of the name
  std::map<std::uint64_t, std::vector<std::uint64_t>> locations;  // id -> functions, inline first
  std::vector<call_stack> stacks;
  std::uint64_t period = 0;
};

// Throws: trace::damaged_profile.
read_profile read(std::string_view bytes) {
  using trace::field;
  using trace::field_reader;
  read_profile p;
  for (field_reader fields(bytes); !fields.is_at_end();) {
    const field f = fields.next();
    if (f.number == 6) p.texts.push_back(f.bytes);
    if (f.number == 12) p.period = f.value;
    if (f.number == 1)
      for (field_reader inner(f.bytes); !inner.is_at_end();)
        if (const field part = inner.next(); part.number == 1) p.types.push_back(part.value);
    if (f.number == 2) {
      call_stack& stack = p.stacks.emplace_back();
      for (field_reader inner(f.bytes); !inner.is_at_end();) {
        const field part = inner.next();
        if (part.number == 1) stack.locations = trace::numbers_of(part);
        if (part.number == 2) stack.values = trace::numbers_of(part);
        if (part.number == 3)  // its one label
          for (field_reader label(part.bytes); !label.is_at_end();)
            if (const field of = label.next(); of.number == 2) stack.tag = of.value;
      }
    }
    if (f.number == 4) {
      std::uint64_t id = 0;
      std::vector<std::uint64_t> functions;
      for (field_reader inner(f.bytes); !inner.is_at_end();) {
        const field part = inner.next();
        if (part.number == 1) id = part.value;
        if (part.number == 4)
          for (field_reader line(part.bytes); !line.is_at_end();)
            if (const field of = line.next(); of.number == 1) functions.push_back(of.value);
      }
      p.locations[id] = std::move(functions);
    }
    if (f.number == 5) {
      std::uint64_t id = 0, name = 0;
      for (field_reader inner(f.bytes); !inner.is_at_end();) {
        const field part = inner.next();
        if (part.number == 1) id = part.value;
        if (part.number == 2) name = part.value;
      }
      p.functions[id] = name;
    }
  }
  return p;
}

}  // namespace

std::string fleet_json(const fleet_look& now, const fleet& all) {
  std::vector<const process_figures*> rows;
  rows.reserve(now.processes.size());
  for (const process_figures& each : now.processes) rows.push_back(&each);
  std::sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
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
                         {"cgroup", each->facts.cgroup},
                         {"live_bytes", each->total.bytes_in_use},
                         {"peak_bytes", each->total.peak_bytes_in_use},
                         {"held_bytes", each->total.committed_bytes},
                         {"limit_bytes", each->total.limit_bytes},
                         {"resident_bytes", each->total.resident_bytes},
                         {"is_exact", each->total.accuracy == ASHLAR_ACCURACY_EXACT},
                         {"calls_per_second", std::llround(trend.calls_per_second)},
                         {"growth_per_minute", std::llround(trend.growth_per_minute)},
                         {"live_kib", points(trend.live_kib)},
                         {"resident_kib", points(trend.resident_kib)}});
  }
  return files::json_text({{"step_seconds", fleet::step.count()},
                           {"count", now.processes.size()},
                           {"silent", now.silent},
                           {"wrong", now.wrong},
                           {"left_out", now.left_out},
                           {"processes", std::move(processes)}});
}

std::string sites_json(std::string_view profile, std::size_t rows) try {
  read_profile p = read(profile);
  const auto text = [&](std::uint64_t at) {
    return at < p.texts.size() ? std::string(p.texts[static_cast<std::size_t>(at)]) : std::string();
  };
  std::map<std::string, std::size_t> column;
  for (std::size_t i = 0; i < p.types.size(); ++i) column[text(p.types[i])] = i;
  const auto value = [&](const call_stack& of, const char* type) -> std::uint64_t {
    const auto found = column.find(type);
    return found != column.end() && found->second < of.values.size() ? of.values[found->second] : 0;
  };
  std::sort(p.stacks.begin(), p.stacks.end(), [&](const call_stack& a, const call_stack& b) {
    return value(a, "inuse_space") > value(b, "inuse_space");
  });
  nlohmann::json sites = nlohmann::json::array();
  for (const call_stack& each : p.stacks) {
    if (sites.size() == rows || value(each, "inuse_space") == 0) break;
    nlohmann::json frames = nlohmann::json::array();
    for (const std::uint64_t location : each.locations) {
      const auto& functions = p.locations[location];
      if (functions.empty()) frames.push_back("?");
      for (const std::uint64_t f : functions) frames.push_back(text(p.functions[f]));
      if (frames.size() >= frames_shown) break;
    }
    sites.push_back({{"live_bytes", value(each, "inuse_space")},
                     {"live_blocks", value(each, "inuse_objects")},
                     {"allocated_bytes", value(each, "alloc_space")},
                     {"tag", text(each.tag)},
                     {"frames", std::move(frames)}});
  }
  return files::json_text({{"every_bytes", p.period}, {"sites", std::move(sites)}});
} catch (const trace::damaged_profile&) {
  return {};
}

}  // namespace ashlar::agent
