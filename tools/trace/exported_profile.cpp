// tools/trace/exported_profile.cpp. Layer: trace.
#include "tools/trace/exported_profile.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ashlar/core/pprof.hpp>

#include "tools/files/text.hpp"

namespace ashlar::trace {

namespace {

using all_figures = std::array<std::int64_t, std::size(profile_figure_names)>;

all_figures figures_of(const stack_figures& s, double ns_per_tick) {
  const auto values =
      pprof::rounded({.allocated_blocks = static_cast<double>(s.births),
                      .allocated_bytes = static_cast<double>(s.bytes),
                      .live_blocks = static_cast<double>(s.live_blocks),
                      .live_bytes = static_cast<double>(s.live_bytes),
                      .lifetime_ns = static_cast<double>(s.lifetime_ticks) * ns_per_tick});
  all_figures all{};
  std::copy(values.begin(), values.end(), all.begin());
  all.back() = static_cast<std::int64_t>(s.at_peak_bytes);
  return all;
}

/// Calls visit(calls, figures) for each stack that has figures.
template <class Visit>
void for_each_stack(const trace_reader& reader, const trace_summary& of, call_names& names,
                    Visit visit) {
  const double ns_per_tick = 1e9 / static_cast<double>(reader.ticks_per_second());
  for (const stack_definition& stack : reader.stacks())
    if (const auto found = of.stacks.find(stack.number); found != of.stacks.end())
      visit(names.of(stack), figures_of(found->second, ns_per_tick));
}

struct sink_out {
  const byte_sink& to;
  std::string bytes;

  void put(const void* from, std::size_t count) {
    constexpr std::size_t at_once = 64 * 1024;
    bytes.append(static_cast<const char*>(from), count);
    if (bytes.size() >= at_once) flush();
  }
  void flush() {
    to(bytes);
    bytes.clear();
  }
};

/// The parts of a profile that stacks share, each written when it is first needed.
class shared_parts {
 public:
  shared_parts(pprof::profile_writer<sink_out>& to, const trace_reader& reader) : to_(to) {
    for (const module_definition& m : reader.modules()) {
      const std::uint64_t number = modules_.size() + 1;
      if (!modules_.emplace(m.path, number).second) continue;  // another part of the same file
      to_.add(pprof::mapping{.id = number,
                             .begin = m.begin,
                             .end = m.end,
                             .file_offset = m.begin - m.bias,
                             .file = text(m.path),
                             .build_id = text(files::hexadecimal(m.build_id)),
                             .is_named = true});
    }
  }

  std::uint64_t location_of(const named_call& call) {
    const std::uint64_t next = locations_.size() + 1;
    const auto [found, is_new] =
        locations_.emplace(std::tuple(call.name, call.file, call.line), next);
    if (!is_new) return found->second;
    const std::array<pprof::line, 1> lines = {
        {{.function = function_of(call), .number = call.line}}};
    const auto module = modules_.find(call.module);
    to_.add(pprof::location{.id = next,
                            .mapping = module != modules_.end() ? module->second : 0,
                            .address = 0,
                            .lines = lines});
    return next;
  }

 private:
  pprof::text_index text(const std::string& bytes) {
    const auto found = texts_.find(bytes);
    return found != texts_.end() ? found->second : texts_[bytes] = to_.text(bytes);
  }
  std::uint64_t function_of(const named_call& call) {
    const std::string& name = call.function.empty() ? call.name : call.function;
    const std::uint64_t next = functions_.size() + 1;
    const auto [found, is_new] = functions_.emplace(std::pair(name, call.file), next);
    if (is_new) {
      const pprof::text_index name_text = text(name), file = text(call.file);
      to_.add(pprof::function{.id = next, .name = name_text, .file = file});
    }
    return found->second;
  }

  pprof::profile_writer<sink_out>& to_;
  std::unordered_map<std::string, std::uint64_t> modules_;
  std::unordered_map<std::string, pprof::text_index> texts_{{"", 0}};
  std::map<std::pair<std::string, std::string>, std::uint64_t> functions_;
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::uint64_t> locations_;
};

/// A name without what separates calls and lines.
std::string folded_name(const named_call& call) {
  std::string name = call.function.empty() ? call.name : call.function;
  for (char& c : name)
    if (c == ';' || c == '\n') c = ':';
  return name;
}

}  // namespace

std::optional<profile_figure> figure_named(std::string_view name) {
  const auto* const found = std::ranges::find(profile_figure_names, name);
  if (found == std::end(profile_figure_names)) return std::nullopt;
  return static_cast<profile_figure>(found - std::begin(profile_figure_names));
}

void write_pprof(const trace_reader& reader, const trace_summary& of, call_names& names,
                 profile_figure first, const byte_sink& to) {
  sink_out out{to, {}};
  pprof::profile_writer<sink_out> profile(out);
  pprof::begin_heap_profile(profile, 1);
  profile.sample_type(profile_figure_names[static_cast<std::size_t>(profile_figure::peak_space)],
                      "bytes");
  profile.default_sample_type(profile_figure_names[static_cast<std::size_t>(first)]);
  const double ns_per_tick = 1e9 / static_cast<double>(reader.ticks_per_second());
  const auto [begin, end] = reader.times();
  profile.time(0, static_cast<std::uint64_t>(static_cast<double>(end - begin) * ns_per_tick));
  shared_parts parts(profile, reader);
  for_each_stack(reader, of, names,
                 [&](const std::vector<named_call>& calls, const all_figures& figures) {
                   std::vector<std::uint64_t> locations;
                   locations.reserve(calls.size());
                   for (const named_call& call : calls)
                     locations.push_back(parts.location_of(call));
                   profile.sample(locations, figures);
                 });
  out.flush();
}

void write_folded(const trace_reader& reader, const trace_summary& of, call_names& names,
                  profile_figure figure, const byte_sink& to) {
  std::map<std::string, std::int64_t> lines;
  for_each_stack(reader, of, names,
                 [&](const std::vector<named_call>& calls, const all_figures& figures) {
                   std::string line;
                   for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
                     if (!line.empty()) line += ';';
                     line += folded_name(*call);
                   }
                   lines[line] += figures[static_cast<std::size_t>(figure)];
                 });
  for (const auto& [line, value] : lines)
    if (value != 0) to(line + " " + std::to_string(value) + "\n");
}

}  // namespace ashlar::trace
