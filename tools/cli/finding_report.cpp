// tools/cli/finding_report.cpp. Layer: cli.
#include "tools/cli/finding_report.hpp"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/call_sites.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/text.hpp"
#include "tools/findings/call_owner.hpp"
#include "tools/findings/page_use.hpp"
#include "tools/findings/remedies.hpp"
#include "tools/measure/rounds.hpp"

namespace ashlar::cli {
namespace {

using findings::finding;
using findings::finding_kind;

constexpr std::size_t callers_shown = 3;
constexpr std::size_t findings_on_first_screen = 3;

// A call as a line of text: without the types of templates and arguments, which JSON has.
std::string text_of(const trace::named_call& call) { return printable(call.brief_text()); }

// What the trace shows, in sentences.
std::string evidence_of(const finding& f) {
  const std::string part =
      fmt::format("{} of {}", format_count(f.fitting), counted(f.allocations, "block"));
  const std::string at_once = fmt::format("At most {} lived at once.", format_count(f.most_live));
  switch (f.kind) {
    case finding_kind::leak:
    case finding_kind::rising:
      return fmt::format(
          "What it holds rose by {} in {} s, {} a second, from the begin to the end of the work "
          "(confidence {:.1f} %). {}",
          format_bytes(f.bytes_saved_at_end), format_seconds(f.rose_for_seconds),
          format_bytes(static_cast<std::uint64_t>(static_cast<double>(f.bytes_saved_at_end) /
                                                  std::max(f.rose_for_seconds, 0.001))),
          std::min(100 * f.confidence, 99.9),
          f.kind == finding_kind::leak && f.bytes_lost != 0
              ? fmt::format("Of its {}, no pointer led to {} at exit.",
                            counted(f.allocations, "block"), format_bytes(f.bytes_lost))
          : f.kind == finding_kind::leak
              ? fmt::format("Nearly nothing of its {} was freed.", counted(f.allocations, "block"))
          : f.fitting * 2 >= f.allocations
              ? fmt::format("{} took the place of a smaller one: it is a list or a table that "
                            "grows, and no "
                            "leak.",
                            part)
              : fmt::format("It made {}. Many were freed, or a pointer leads to them at exit.",
                            counted(f.allocations, "block")));
    case finding_kind::growth:
      return fmt::format("{} took the place of a smaller one. {} grew, in {:.1f} steps{}.", part,
                         counted(f.chains, "block"), measure::ratio_to(f.fitting, f.chains),
                         f.chains == 1 ? "" : " each on average");
    case finding_kind::short_lived:
      return fmt::format(
          "{} were freed by their thread before it had called the allocator {} times more. {}",
          part, findings::near_calls, at_once);
    case finding_kind::handoff:
      return fmt::format("{} were freed by another thread than the one that made them. {}", part,
                         at_once);
    case finding_kind::together:
      return fmt::format(
          "{} were freed at {}: all that there were. Meanwhile nearly nothing was "
          "allocated.",
          part, f.bursts == 1 ? "once" : format_count(f.bursts) + " moments");
    case finding_kind::nodes:
      return fmt::format("{} have {} bytes, and the calls name a container's node. {}", part,
                         format_count(f.block_bytes), at_once);
    case finding_kind::pool:
      return fmt::format("{} have {} bytes. {}", part, format_count(f.block_bytes), at_once);
    case finding_kind::hot_loop:
      return fmt::format("{} were made. {}", counted(f.allocations, "block"), at_once);
    case finding_kind::slack:
      return fmt::format(
          "{} of {} bytes lived at the peak. If each were {} byte{} smaller, the allocator that "
          "served them would need {} bytes less for it.",
          counted(f.fitting, "block"), format_count(f.block_bytes), f.smaller_bytes,
          f.smaller_bytes == 1 ? "" : "s", format_count(f.saved_a_block));
    case finding_kind::untouched:
      return fmt::format(
          "{} of {} {} looked at, before the free or at the end. In {}, half or more was never "
          "touched: {} at least, of blocks of up to {}.",
          format_count(f.looked_at), counted(f.allocations, "block"),
          f.looked_at == 1 ? "was" : "were", format_count(f.fitting),
          format_bytes(f.untouched_bytes), format_bytes(f.largest_bytes));
    case finding_kind::pins:
      return fmt::format(
          "{} {} with {} lay in pages of which less than a quarter lived. {} pages ({}) had no "
          "other block. In the replay, {} of {} went.",
          f.pinned_at == 1 ? "At the end,"
                           : fmt::format("At {:.0f} % of the run,", 100 * f.pinned_at),
          counted(f.fitting, "block"), format_bytes(f.pinned_live_bytes),
          format_count(f.pages_alone), format_bytes(f.pages_alone * findings::page_bytes),
          format_bytes(f.bytes_saved_after_peak), format_bytes(f.held_bytes));
  }
  return {};
}

std::string_view word_of(findings::sureness how) {
  return how == findings::sureness::seen ? "seen" : "likely";
}

std::string time_text(double ms) {
  if (ms < 1) return "less than 1 ms";
  return ms < 10 ? fmt::format("some {:.1f} ms", ms)
                 : fmt::format("some {} ms",
                               format_count(static_cast<std::uint64_t>(std::llround(ms))));
}

// "1.5 MiB at the peak, 299,999 allocations, some 12 ms", or parts of it.
std::string savings_of(const finding& f, const std::optional<call_times>& times) {
  std::string text;
  if (f.bytes_saved_at_peak != 0) text = format_bytes(f.bytes_saved_at_peak) + " at the peak";
  if (f.bytes_saved_after_peak != 0)
    text = format_bytes(f.bytes_saved_after_peak) + " after the peak";
  if (f.bytes_saved_at_end != 0) text = format_bytes(f.bytes_saved_at_end) + " at the end";
  if (f.allocations_saved != 0)
    text += (text.empty() ? "" : ", ") + counted(f.allocations_saved, "allocation");
  if (f.address_space_saved_at_peak != 0)
    text += format_bytes(f.address_space_saved_at_peak) + " of address space at the peak";
  if (times && f.allocations_saved != 0) text += ", " + time_text(milliseconds_saved(f, *times));
  return text;
}

// The calls around the owner, up to what starts main or a thread, or was cut.
std::vector<trace::named_call> callers_of(const finding& f) {
  std::vector<trace::named_call> callers;
  for (std::size_t i = f.owner + 1; i < f.calls.size() && callers.size() < callers_shown; ++i) {
    if (!findings::is_of_program(f.calls[i])) break;
    callers.push_back(f.calls[i]);
  }
  return callers;
}

void add_code(std::string& to, std::string_view heading, std::string_view code) {
  if (code.empty()) return;
  to += fmt::format("\n   {}:\n", heading);
  for (const std::string_view line : files::parts_of(code, '\n'))
    to += fmt::format("     {}\n", line);
}

bool saves_no_memory(const finding& f) {
  return f.bytes_saved_at_peak == 0 && f.bytes_saved_after_peak == 0 && f.bytes_saved_at_end == 0 &&
         f.address_space_saved_at_peak == 0;
}

std::string title_of(const finding& f, const std::optional<call_times>& times, std::size_t number) {
  return fmt::format("{}. {}: saves up to {}", number, findings::remedy_for(f).title,
                     savings_of(f, times));
}

std::string render_finding(const finding& f, const std::optional<call_times>& times,
                           std::size_t number, bool with_code) {
  const findings::remedy what = findings::remedy_for(f);
  std::string text = '\n' + title_of(f, times, number) + '\n';
  text += fmt::format("     {}{}{}\n", text_of(f.calls[f.owner]),
                      f.through.empty() ? "" : ", through ", printable(f.through));
  for (const trace::named_call& other : f.also)
    text += fmt::format("     and {}\n", text_of(other));
  for (const trace::named_call& caller : callers_of(f))
    text += fmt::format("       called by {}\n", text_of(caller));
  add_paragraph(
      text,
      fmt::format("{}: {}", word_of(f.how_sure) == "seen" ? "Seen" : "Likely", evidence_of(f)), 3);
  add_paragraph(text, what.words, 3);
  if (with_code) {
    add_code(text, "With the standard library", what.standard);
    add_code(text, "With ashlar", what.ashlar);
  }
  return text;
}

nlohmann::json places_json(const std::vector<trace::named_call>& calls) {
  nlohmann::json list = nlohmann::json::array();
  for (const trace::named_call& call : calls) list.push_back(place_json(call));
  return list;
}

}  // namespace

nlohmann::json place_json(const trace::named_call& call) {
  return {{"name", call.name},
          {"function", trace::short_name(findings::function_of(call))},
          {"source", call.place()}};
}

std::string render_first_findings(const findings::findings_of_run& found,
                                  const std::optional<call_times>& times, std::size_t rows) {
  const std::size_t all = found.list.size();
  const std::string left_out =
      found.in_interpreter == 0
          ? std::string()
          : fmt::format("  {} more in the interpreter itself (--interpreter lists them)\n",
                        format_count(found.in_interpreter));
  std::string text = fmt::format(
      "\n  {} in {} and {} at the peak{}\n", all == 0 ? "no findings" : counted(all, "finding"),
      counted(found.totals.births, "allocation"), format_bytes(found.totals.peak_bytes),
      all == 0 ? "" : "; the end of this report says more");
  std::size_t shown = 0;
  for (std::size_t i = 0; i < all && shown < std::min(rows, findings_on_first_screen); ++i) {
    const finding& f = found.list[i];
    if (saves_no_memory(f) && f.allocations_saved < found.totals.births / 20) continue;
    ++shown;
    const std::string what =
        fmt::format("     {}: {}", printable(place_of(site_at(f.calls[f.owner]))),
                    findings::remedy_for(f).words);
    text += shortened("  " + title_of(f, times, i + 1), screen_columns) + '\n' +
            shortened(what, screen_columns) + '\n';
  }
  return text + left_out;
}

std::string render_findings(const findings::findings_of_run& found,
                            const std::optional<call_times>& times, std::size_t rows) {
  if (found.list.empty()) return {};
  const std::size_t shown = std::min(rows, found.list.size());
  std::string text = "what to change\n";
  add_paragraph(text, sentence_of(times), 0);
  std::bitset<findings::finding_kinds> explained;  // code is shown once for each kind
  for (std::size_t i = 0; i < shown; ++i) {
    const auto kind = static_cast<std::size_t>(found.list[i].kind);
    text += render_finding(found.list[i], times, i + 1, !explained[kind]);
    explained.set(kind);
  }
  if (shown < found.list.size())
    text += fmt::format("\n{} more (--rows {} lists them)\n",
                        format_count(found.list.size() - shown), found.list.size());
  return text;
}

bool take_time(const findings::findings_of_run& found) {
  return std::ranges::any_of(found.list, [](const finding& f) { return f.allocations_saved != 0; });
}

nlohmann::json findings_json(const findings::findings_of_run& found,
                             const std::optional<call_times>& times) {
  nlohmann::json list = nlohmann::json::array();
  for (const finding& f : found.list) {
    const findings::remedy what = findings::remedy_for(f);
    list.push_back({{"kind", what.name},
                    {"title", what.title},
                    {"sure", word_of(f.how_sure)},
                    {"site", place_json(f.calls[f.owner])},
                    {"through", f.through},
                    {"also", places_json(f.also)},
                    {"called_by", places_json(callers_of(f))},
                    {"bytes_saved_at_peak", f.bytes_saved_at_peak},
                    {"bytes_saved_after_peak", f.bytes_saved_after_peak},
                    {"bytes_saved_at_end", f.bytes_saved_at_end},
                    {"allocations_saved", f.allocations_saved},
                    {"address_space_saved_at_peak", f.address_space_saved_at_peak},
                    {"milliseconds_saved",
                     times ? nlohmann::json(milliseconds_saved(f, *times)) : nlohmann::json()},
                    {"allocations", f.allocations},
                    {"bytes_at_peak", f.bytes_at_peak},
                    {"most_live", f.most_live},
                    {"fitting", f.fitting},
                    {"block_bytes", f.block_bytes},
                    {"savings", savings_of(f, times)},
                    {"evidence", evidence_of(f)},
                    {"remedy", what.words},
                    {"standard", what.standard},
                    {"ashlar", what.ashlar}});
  }
  return {{"allocations", found.totals.births},
          {"bytes_at_peak", found.totals.peak_bytes},
          {"times", call_times_json(times)},
          {"in_interpreter", found.in_interpreter},
          {"findings", std::move(list)}};
}

}  // namespace ashlar::cli
