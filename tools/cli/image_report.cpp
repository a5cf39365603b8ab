// tools/cli/image_report.cpp. Layer: cli.
#include "tools/cli/image_report.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/call_sites.hpp"
#include "tools/cli/page_report.hpp"
#include "tools/cli/table.hpp"
#include "tools/cli/text.hpp"
#include "tools/findings/call_owner.hpp"
#include "tools/measure/rounds.hpp"

namespace ashlar::cli {
namespace {

using inspect::block_group;
using inspect::class_blocks;
using inspect::resting;
using inspect::told_block;

std::string hexadecimal(std::uint64_t address) { return fmt::format("{:#x}", address); }
std::string share_of(std::uint64_t bytes, std::uint64_t all) {
  return all == 0 ? "" : fmt::format("{:.1f} %", 100 * measure::ratio_to(bytes, all));
}

struct totals {
  std::uint64_t blocks = 0, bytes = 0;
  // By `resting`; what is on its way is not counted.
  std::uint64_t resting_blocks[4] = {}, resting_bytes[4] = {};
};
totals totals_of(const inspect::heap_contents& heaps) {
  totals t;
  for (const class_blocks& f : heaps.classes) {
    t.blocks += f.live;
    t.bytes += f.live_bytes;
    for (std::size_t i = 0; i < 4; ++i) {
      t.resting_blocks[i] += f.at_rest[i];
      t.resting_bytes[i] += f.at_rest[i] * f.block_size;
    }
  }
  return t;
}

std::string head_of(const image_report& report) {
  const image::memory_image& image = *report.image;
  std::string text = report.path.empty()
                         ? fmt::format("Process {}", image.process)
                         : fmt::format("{}: process {}", printable(report.path), image.process);
  if (!image.command.empty()) text += fmt::format(" ({})", printable(image.command));
  text += fmt::format(", {}", counted(image.threads().size(), "thread"));
  if (image.signal != 0) {
    const char* const words = ::sigdescr_np(image.signal);
    text += fmt::format(", ended by signal {} ({})", image.signal, words != nullptr ? words : "?");
  }
  if (report.pause_ms != 0) text += fmt::format(", stopped for {:.1f} ms", report.pause_ms);
  return text + "\n";
}

constexpr std::uint64_t pinned_bytes_told = 1024 * 1024;
constexpr const char* resting_words[] = {"in slabs", "shared caches", "thread caches",
                                         "in a queue"};
constexpr const char* resting_keys[] = {"in_slabs", "in_stashes", "in_caches", "in_queue"};

std::string totals_text(const image_report& report) {
  const totals t = totals_of(*report.heaps);
  const auto amount = [](std::uint64_t bytes, std::uint64_t blocks) {
    return fmt::format("{} in {}", format_bytes(bytes), counted(blocks, "block"));
  };
  std::string text = labelled_line("in use", amount(t.bytes, t.blocks));
  for (const resting where : {resting::in_cache, resting::in_stash, resting::in_slab}) {
    const auto i = static_cast<std::size_t>(where);
    text +=
        labelled_line(resting_words[i], amount(t.resting_bytes[i], t.resting_blocks[i]) + ", free");
  }
  constexpr auto queue = static_cast<std::size_t>(resting::in_queue);
  if (t.resting_blocks[queue] != 0)
    text += labelled_line(
        resting_words[queue],
        amount(t.resting_bytes[queue], t.resting_blocks[queue]) + ", freed under full checks");
  for (const inspect::found_heap& heap : report.heaps->heaps)
    text += labelled_line(heap.name.empty() ? "heap" : "heap " + printable(heap.name),
                          fmt::format("{} in {}, of {}", format_bytes(heap.bytes),
                                      counted(heap.blocks, "block"), printable(heap.library)));
  return text;
}

/// All memory that the image has, a line for each use; of a process, up to what is resident.
std::vector<std::pair<inspect::memory_part, bool>> memory_lines(const image_report& report) {
  std::vector<std::pair<inspect::memory_part, bool>> lines;
  std::uint64_t sum = 0;
  for (const inspect::memory_part& part : inspect::memory_parts(*report.image, *report.heaps)) {
    lines.push_back({part, true});
    sum += part.bytes;
  }
  if (!report.image->counts) {
    lines.push_back({{"sum", "in the core, in all", sum}, true});
    return lines;
  }
  const image::memory_counts& counts = *report.image->counts;
  const std::uint64_t own = counts.anonymous + counts.swapped;
  const std::uint64_t closed = std::max(counts.closed, own > sum ? own - sum : 0);
  const auto add = [&](const char* key, const char* what, std::uint64_t bytes, bool adds = true) {
    if (bytes != 0) lines.push_back({{key, what, bytes}, adds});
  };
  add("closed", "pages that may not be read", closed);
  add("shared", "files and shared memory, unchanged", counts.resident - counts.anonymous);
  add("only_read", "read and never written: one page of zeros", sum + closed - own, false);
  add("swapped", "swapped out", counts.swapped, false);
  add("sum", "resident, in all", counts.resident);
  return lines;
}

std::string memory_text(const image_report& report) {
  table lines({{"bytes"}, {"what has them", align::left}});
  for (const auto& [part, adds] : memory_lines(report))
    lines.add_row({(adds ? "" : "-") + format_bytes(part.bytes), part.what});
  return "\nAll memory" + std::string(report.path.empty() ? "" : " in the core file") + ":\n" +
         lines.render(2);
}

std::string left_out(std::size_t all, std::size_t rows) {
  return all <= rows
             ? ""
             : fmt::format("  {} more (--rows {} lists them)\n", format_count(all - rows), all);
}

std::string groups_text(const std::vector<block_group>& groups, std::size_t rows,
                        std::uint64_t bytes) {
  table lines({{"blocks"},
               {"bytes"},
               {"share"},
               {"what is in them", align::left},
               {"for example", align::left}});
  for (std::size_t i = 0; i < std::min(rows, groups.size()); ++i)
    lines.add_row({format_count(groups[i].blocks), format_bytes(groups[i].bytes),
                   share_of(groups[i].bytes, bytes), printable(groups[i].what),
                   hexadecimal(groups[i].examples.front())});
  return "\nIn use, by what is in the blocks (the type of an object, where its first word "
         "tells):\n" +
         lines.render(2) + left_out(groups.size(), rows);
}

std::string broken_text(const inspect::heap_contents& heaps) {
  std::string text;
  if (heaps.broken.empty()) return text;
  text =
      "\nThe heap's own tables contradict each other (or a thread was at work there), so some "
      "blocks are "
      "left out:\n";
  for (const std::string& each : heaps.broken) text += "  " + printable(each) + "\n";
  if (heaps.broken_left_out != 0)
    text += fmt::format("  and {} more\n", format_count(heaps.broken_left_out));
  return text;
}

// ---- who allocated ----

std::vector<trace::named_call> named_calls(const inspect::heap_contents& heaps, std::uint32_t stack,
                                           trace::call_names& names) {
  return names.of({stack, heaps.known.stacks[stack]});
}

// The program's own call that most of the blocks of a group come from, as far as that is known.
std::string owner_text(const image_report& report, const block_group& group) {
  if (group.sites.empty()) return {};
  const auto calls = named_calls(*report.heaps, group.sites.front().stack, *report.calls);
  if (calls.empty()) return {};
  trace::named_call owner = calls[findings::line_of(calls).value_or(0)];
  owner.file = std::filesystem::path(owner.file).filename().string();
  std::string text = printable(owner.text());
  if (const std::size_t others = group.sites.size() - 1; others != 0)
    text += fmt::format(" and {} more", others);
  return text;
}

// Groups by block size, with who allocated them as far as that is known.
std::string sites_text(const image_report& report, const std::vector<block_group>& groups,
                       const char* bytes, std::size_t rows) {
  const bool has_sites =
      std::ranges::any_of(groups, [](const block_group& g) { return !g.sites.empty(); });
  std::vector<column> columns{{"blocks"}, {"of size"}, {bytes}, {"what is in them", align::left}};
  if (has_sites) columns.emplace_back("allocated by", align::left);
  columns.emplace_back("for example", align::left);
  table lines(columns);
  for (std::size_t i = 0; i < std::min(rows, groups.size()); ++i) {
    const block_group& g = groups[i];
    std::vector<std::string> cells{format_count(g.blocks), format_count(g.block_size),
                                   format_bytes(g.bytes), printable(g.what)};
    if (has_sites) cells.push_back(owner_text(report, g));
    std::string examples;
    // One is enough beside a site: `--what` has all of its calls.
    for (const std::uint64_t address :
         std::span(g.examples).first(has_sites ? 1 : g.examples.size()))
      examples += fmt::format("{}{:#x}", examples.empty() ? "" : " ", address);
    cells.push_back(examples);
    lines.add_row(cells);
  }
  return lines.render(2) + left_out(groups.size(), rows);
}

std::uint64_t pinned_bytes(const image_report& report) {
  std::uint64_t bytes = 0;
  for (const block_group& g : report.survey.pinning) bytes += g.bytes;
  return bytes;
}

std::string pinned_text(const image_report& report, std::size_t rows) {
  const std::uint64_t bytes = pinned_bytes(report);
  if (bytes < pinned_bytes_told) return {};
  return fmt::format("\nWhat keeps {} of free bytes in hollow pages:\n", format_bytes(bytes)) +
         sites_text(report, report.survey.pinning, "pinned", rows);
}

nlohmann::json groups_json(const std::vector<block_group>& groups, const image_report& report) {
  nlohmann::json all = nlohmann::json::array();
  for (const block_group& g : groups) {
    nlohmann::json one{
        {"what", g.what}, {"is_type", g.is_type}, {"blocks", g.blocks}, {"bytes", g.bytes}};
    if (g.block_size != 0) one["block_size"] = g.block_size;
    for (const std::uint64_t address : g.examples) one["examples"].push_back(hexadecimal(address));
    for (const inspect::group_site& site : g.sites) {
      nlohmann::json each = calls_json(named_calls(*report.heaps, site.stack, *report.calls));
      each["blocks"] = site.blocks;
      one["sites"].push_back(std::move(each));
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::string block_text(const told_block& b) {
  return fmt::format("{} bytes at {:#x}, {}: {}", format_count(b.size), b.begin,
                     b.is_live ? "in use" : "free", printable(b.what));
}
nlohmann::json block_json(const told_block& b, const inspect::heap_contents& heaps,
                          trace::call_names& names) {
  nlohmann::json one{{"address", hexadecimal(b.begin)},
                     {"bytes", b.size},
                     {"in_use", b.is_live},
                     {"what", b.what}};
  if (b.known == nullptr) return one;
  one["asked_bytes"] = b.known->size;
  const auto deed = [&](const inspect::told_deed& d) {
    nlohmann::json told = calls_json(named_calls(heaps, d.stack, names));
    if (d.call != 0) told["by"] = heaps.known.calls[d.call];
    if (d.thread != 0) told["thread"] = d.thread;
    return told;
  };
  one["allocated"] = deed(b.known->made);
  if (b.known->is_freed) one["freed"] = deed(b.known->freed);
  return one;
}

std::string deed_text(const char* label, const inspect::told_deed& deed, std::string_view more,
                      const inspect::heap_contents& heaps, trace::call_names& names) {
  std::string how;
  if (deed.call != 0) how += fmt::format("by {}", printable(heaps.known.calls[deed.call]));
  if (deed.thread != 0) how += fmt::format(" in thread {}", deed.thread);
  how += more;
  std::string text = labelled_line(label, how);
  text += render_calls(named_calls(heaps, deed.stack, names));
  return text;
}

std::string known_text(const told_block& b, const inspect::heap_contents& heaps,
                       trace::call_names& names) {
  if (b.known == nullptr) return {};
  const std::string asked =
      fmt::format("{}{} bytes", b.known->made.call != 0 ? ", " : "", format_count(b.known->size));
  std::string text = deed_text("allocated", b.known->made, asked, heaps, names);
  if (b.known->is_freed) text += deed_text("freed", b.known->freed, "", heaps, names);
  return text;
}

// Where the address is, by the block that has its place.
std::string place_text(const inspect::address_answer& a) {
  const told_block& b = *a.block;
  const char* const state = b.is_live ? "in use" : "free";
  if (a.address < b.begin)
    return fmt::format("{} bytes before a block that is {}\n", format_count(b.begin - a.address),
                       state);
  if (a.address - b.begin >= b.size)
    return fmt::format("{} bytes behind the end of a block that is {}\n",
                       format_count(a.address - b.begin - b.size), state);
  return fmt::format("{} bytes into a block that is {}\n", format_count(a.address - b.begin),
                     state);
}

}  // namespace

std::string render_blocks(const image::memory_image& image, const inspect::heap_contents& heaps,
                          inspect::file_symbols& names) {
  std::string text;
  for (const trace::held_block& block : heaps.live)
    text += fmt::format("{:#x} {} {}\n", block.address, block.size,
                        printable(inspect::content_of(image, block, names).what));
  return text;
}

std::string render_unreachable(const image_report& report, std::size_t rows) {
  const inspect::survey& s = report.survey;
  if (s.unreachable_blocks == 0) return "\nA pointer leads to each block.\n";
  return fmt::format("\nNo pointer leads to {} in {}:\n", format_bytes(s.unreachable_bytes),
                     counted(s.unreachable_blocks, "block")) +
         sites_text(report, s.unreachable, "bytes", rows);
}

std::string render_image(const image_report& report, std::size_t rows) {
  return head_of(report) + totals_text(report) + memory_text(report) + render_pages(report, rows) +
         pinned_text(report, rows) +
         groups_text(report.survey.by_what, rows, totals_of(*report.heaps).bytes) +
         render_unreachable(report, rows) + broken_text(*report.heaps);
}

nlohmann::json image_json(const image_report& report) {
  const totals t = totals_of(*report.heaps);
  const image::memory_image& image = *report.image;
  nlohmann::json all{
      {"process", image.process},
      {"command", image.command},
      {"threads", image.threads().size()},
      {"in_use", {{"blocks", t.blocks}, {"bytes", t.bytes}}},
      {"by_what", groups_json(report.survey.by_what, report)},
      {"pinned",
       {{"bytes", pinned_bytes(report)}, {"groups", groups_json(report.survey.pinning, report)}}},
      {"unreachable",
       {{"blocks", report.survey.unreachable_blocks},
        {"bytes", report.survey.unreachable_bytes},
        {"groups", groups_json(report.survey.unreachable, report)}}},
      {"remarks", image.remarks},
      {"broken", report.heaps->broken}};
  for (const auto& [part, adds] : memory_lines(report))
    all["memory"][part.key] =
        adds ? static_cast<std::int64_t>(part.bytes) : -static_cast<std::int64_t>(part.bytes);
  if (!report.path.empty()) all["core"] = report.path;
  if (image.signal != 0) all["signal"] = image.signal;
  if (report.pause_ms != 0) all["pause_ms"] = report.pause_ms;
  for (std::size_t i = 0; i < std::size(resting_keys); ++i)
    all["free"][resting_keys[i]] = {{"blocks", t.resting_blocks[i]}, {"bytes", t.resting_bytes[i]}};
  for (const inspect::found_heap& heap : report.heaps->heaps)
    all["heaps"].push_back({{"library", heap.library},
                            {"name", heap.name},
                            {"blocks", heap.blocks},
                            {"bytes", heap.bytes}});
  all.update(pages_json(report));
  return all;
}

std::string render_answer(const inspect::address_answer& a, const inspect::heap_contents& heaps,
                          trace::call_names& calls) {
  std::string text = fmt::format("{:#x}: ", a.address);
  if (a.block) {
    text += place_text(a);
    text += labelled_line("block", block_text(*a.block));
    text += known_text(*a.block, heaps, calls);
    text += labelled_line("before", a.before ? block_text(*a.before) : "no block");
    text += labelled_line("behind", a.behind ? block_text(*a.behind) : "no block");
  } else {
    text += printable(a.place) + "\n";
  }
  text += a.pointers.empty() ? "  no pointer leads there\n" : "  what points there:\n";
  for (const inspect::told_pointer& p : a.pointers)
    text += p.address == 0
                ? fmt::format("    {}: {:#x}\n", p.where, p.value)
                : fmt::format("    {:#x}: {:#x}: {}\n", p.address, p.value, printable(p.where));
  if (a.pointers_left_out != 0)
    text += fmt::format("    and {} more\n", format_count(a.pointers_left_out));
  return text;
}

nlohmann::json answer_json(const inspect::address_answer& a, const inspect::heap_contents& heaps,
                           trace::call_names& calls) {
  nlohmann::json all{{"address", hexadecimal(a.address)},
                     {"pointers", nlohmann::json::array()},
                     {"pointers_left_out", a.pointers_left_out}};
  if (!a.place.empty()) all["place"] = a.place;
  if (a.block) {
    all["block"] = block_json(*a.block, heaps, calls);
    all["offset"] = static_cast<std::int64_t>(a.address - a.block->begin);
    if (a.before) all["before"] = block_json(*a.before, heaps, calls);
    if (a.behind) all["behind"] = block_json(*a.behind, heaps, calls);
  }
  for (const inspect::told_pointer& p : a.pointers)
    all["pointers"].push_back(
        {{"address", hexadecimal(p.address)}, {"value", hexadecimal(p.value)}, {"where", p.where}});
  return all;
}

}  // namespace ashlar::cli
