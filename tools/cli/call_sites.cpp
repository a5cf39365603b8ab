// tools/cli/call_sites.cpp. Layer: cli.
#include "tools/cli/call_sites.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/text.hpp"
#include "tools/findings/call_owner.hpp"

namespace ashlar::cli {
namespace {

constexpr std::size_t folded_calls_shown = 24;

void add(trace::stack_figures& to, const trace::stack_figures& more) {
  to.births += more.births;
  to.bytes += more.bytes;
  to.live_blocks += more.live_blocks;
  to.live_bytes += more.live_bytes;
  to.at_peak_bytes += more.at_peak_bytes;
  to.resident_bytes += more.resident_bytes;
  to.temporaries += more.temporaries;
  to.unreachable_blocks += more.unreachable_blocks;
  to.unreachable_bytes += more.unreachable_bytes;
}

std::string key_of(const std::vector<trace::named_call>& calls) {
  std::string key;
  for (const trace::named_call& call : calls) key += call.text() + '\n';
  return key;
}

}  // namespace

std::vector<call_site> call_sites(
    const trace::trace_reader& reader,
    const std::unordered_map<std::uint32_t, trace::stack_figures>& stacks, trace::call_names& names,
    std::uint64_t trace::stack_figures::* by, std::size_t rows) {
  std::unordered_map<std::string, call_site> merged;
  for (const trace::stack_definition& stack : reader.stacks()) {
    const auto found = stacks.find(stack.number);
    if (found == stacks.end() || found->second.*by == 0) continue;
    std::vector<trace::named_call> calls = names.of(stack);
    call_site& site = merged[key_of(calls)];
    add(site.figures, found->second);
    site.calls = std::move(calls);
  }
  std::vector<std::pair<std::string, call_site>> sorted(std::make_move_iterator(merged.begin()),
                                                        std::make_move_iterator(merged.end()));
  std::ranges::sort(sorted, [&](const auto& a, const auto& b) {
    const trace::stack_figures& x = a.second.figures;
    const trace::stack_figures& y = b.second.figures;
    return std::tuple(y.*by, y.bytes, a.first) < std::tuple(x.*by, x.bytes, b.first);
  });
  std::vector<call_site> sites;
  for (auto& [key, site] : sorted) {
    if (sites.size() == rows) break;
    sites.push_back(std::move(site));
  }
  return sites;
}

report::call_site site_at(const trace::named_call& call) {
  return {call.name, trace::short_name(findings::function_of(call)), call.place(), call.module};
}

namespace {

// Returns: the first call of the same file behind this one that has a name.
std::vector<trace::named_call>::const_iterator named_caller(
    const std::vector<trace::named_call>& calls, std::size_t of) {
  return std::find_if(calls.begin() + static_cast<std::ptrdiff_t>(of) + 1, calls.end(),
                      [&](const trace::named_call& call) {
                        return call.module == calls[of].module && !call.function.empty();
                      });
}

}  // namespace

report::call_site site_for(const std::vector<trace::named_call>& calls) {
  if (calls.empty()) return {};
  const std::size_t owner = findings::line_of(calls).value_or(0);
  report::call_site site = site_at(calls[owner]);
  if (owner != 0 && !findings::owner_of(calls) && !calls[owner - 1].function.empty()) {
    const std::string kept_by = trace::short_name(calls[owner - 1].function) + " for ";
    site.name = kept_by + site.name;
    if (!site.function.empty()) site.function = kept_by + site.function;
  }
  if (!site.function.empty() || site.module.empty()) return site;
  if (const auto caller = named_caller(calls, owner); caller != calls.end())
    site.name += fmt::format(" for {}", trace::short_name(caller->function));
  return site;
}

namespace {

// The lines of stacks. Most stacks of a large program begin as many others do, and their line is among
// these calls: only those are named, and once.
class lines_of_stacks {
 public:
  explicit lines_of_stacks(trace::call_names& names) : names_(names) {}

  // Returns: site_for() of the stack.
  report::call_site of(const trace::stack_definition& stack) {
    const auto& frames = stack.frames;
    const auto script =
        std::ranges::find_if(frames, [&](auto frame) { return is_of_script(frame); });
    if (script != frames.end()) return site_for(names_.of({0, {*script}}));
    if (frames.size() <= first_calls) return site_for(names_.of(stack));
    const auto [known, is_new] =
        by_first_.try_emplace({frames.begin(), frames.begin() + first_calls});
    if (is_new) {
      const auto calls = names_.of({0, known->first});
      // Whose line it is may depend on the call behind, and what a function without a name works for.
      const auto owner = findings::owner_of(calls);
      if (owner && *owner + 1 < calls.size() &&
          (!calls[*owner].function.empty() || named_caller(calls, *owner) != calls.end()))
        known->second = site_for(calls);
    }
    return known->second ? *known->second : site_for(names_.of(stack));
  }

 private:
  static constexpr std::ptrdiff_t first_calls = 8;

  bool is_of_script(std::uint64_t frame) {
    const auto [known, is_new] = scripts_.try_emplace(frame);
    if (is_new) known->second = names_.of({0, {frame}}).front().is_of_script();
    return known->second;
  }

  trace::call_names& names_;
  std::unordered_map<std::uint64_t, bool> scripts_;
  std::map<std::vector<std::uint64_t>, std::optional<report::call_site>> by_first_;
};

}  // namespace

std::vector<site_line> site_lines(
    const trace::trace_reader& reader,
    const std::unordered_map<std::uint32_t, trace::stack_figures>& stacks, trace::call_names& names,
    std::size_t rows) {
  using figures = trace::stack_figures;
  lines_of_stacks sites(names);
  std::map<report::call_site, figures> merged;
  for (const trace::stack_definition& stack : reader.stacks())
    if (const auto found = stacks.find(stack.number); found != stacks.end())
      add(merged[sites.of(stack)], found->second);
  std::vector<site_line> lines;
  lines.reserve(merged.size());
  for (const auto& [site, sum] : merged) lines.push_back({site, sum});
  std::ranges::sort(lines, [](const site_line& a, const site_line& b) {
    return std::tie(b.figures.resident_bytes, b.figures.at_peak_bytes, b.figures.bytes, a.site) <
           std::tie(a.figures.resident_bytes, a.figures.at_peak_bytes, a.figures.bytes, b.site);
  });
  auto kept = static_cast<std::ptrdiff_t>(std::min(rows, lines.size()));
  if (kept == 0) return {};
  for (std::uint64_t figures::* const of : {&figures::live_bytes, &figures::bytes, &figures::births,
                                            &figures::temporaries, &figures::unreachable_bytes}) {
    const auto most = std::ranges::max_element(lines, [&](const site_line& a, const site_line& b) {
      return a.figures.*of < b.figures.*of;
    });
    if (most - lines.begin() >= kept) std::iter_swap(lines.begin() + kept++, most);
  }
  lines.resize(static_cast<std::size_t>(kept));
  return lines;
}

nlohmann::json site_lines_json(const std::vector<site_line>& lines) {
  nlohmann::json list = nlohmann::json::array();
  for (const site_line& line : lines) {
    list.push_back(report::site_json(line.site));
    list.back().update(figures_json(line.figures));
  }
  return list;
}

std::string called_by_line(const std::vector<trace::named_call>& calls) {
  const std::size_t line = findings::line_of(calls).value_or(0);
  return line == 0 ? "" : trace::short_name(findings::function_of(calls[line - 1]));
}

std::vector<std::string> files_without_lines(const std::vector<call_site>& sites) {
  std::vector<std::string> paths;
  for (const call_site& site : sites) {
    if (site.calls.empty() || !site.calls.front().lacks_line()) continue;
    const std::string& path = site.calls.front().module;
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
  }
  return paths;
}

std::string render_calls(std::span<const trace::named_call> calls, std::size_t most) {
  std::string text;
  const auto add_line = [&](const std::string& line) { text += fmt::format("      {}\n", line); };
  const bool is_long = calls.size() > most && calls.size() - most > 1;
  const std::size_t shown = is_long ? most - 1 : calls.size();
  for (std::size_t i = 0; i < shown; ++i) add_line(printable(calls[i].brief_text()));
  if (is_long) {
    add_line(fmt::format("({} calls more)", calls.size() - shown - 1));
    add_line(printable(calls.back().brief_text()));
  }
  return text;
}

std::string render_held(const std::vector<call_site>& sites, bool has_all_calls,
                        const held_figures& of) {
  std::string text;
  for (const call_site& site : sites) {
    text += fmt::format("  {} in {}{}, of {} in all\n", format_bytes(site.figures.*of.bytes),
                        counted(site.figures.*of.blocks, "block"), of.word,
                        format_count(site.figures.births));
    text += has_all_calls ? render_calls(site.calls)
                          : render_calls(findings::folded(site.calls), folded_calls_shown);
  }
  return text;
}

nlohmann::json calls_json(const std::vector<trace::named_call>& calls) {
  nlohmann::json frames = nlohmann::json::array();
  nlohmann::json sources = nlohmann::json::array();
  for (const trace::named_call& call : calls) {
    frames.push_back(call.name);
    sources.push_back(call.place());
  }
  return {{"frames", std::move(frames)}, {"sources", std::move(sources)}};
}

nlohmann::json figures_json(const trace::stack_figures& figures) {
  return {{"births", figures.births},
          {"bytes", figures.bytes},
          {"bytes_at_peak", figures.at_peak_bytes},
          {"bytes_in_memory", figures.resident_bytes},
          {"bytes_at_end", figures.live_bytes},
          {"blocks_at_end", figures.live_blocks},
          {"temporaries", figures.temporaries}};
}

nlohmann::json call_sites_json(const std::vector<call_site>& sites) {
  nlohmann::json list = nlohmann::json::array();
  for (const call_site& site : sites) {
    list.push_back(figures_json(site.figures));
    list.back().update(calls_json(site.calls));
  }
  return list;
}

}  // namespace ashlar::cli
