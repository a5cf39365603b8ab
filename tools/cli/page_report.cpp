// tools/cli/page_report.cpp. Layer: cli.
#include "tools/cli/page_report.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/table.hpp"
#include "tools/cli/text.hpp"

namespace ashlar::cli {
namespace {

// The blocks of a size, and the pages that are cut into such.
struct size_line {
  std::uint64_t block_size = 0;  // 0: of large blocks
  std::uint64_t blocks = 0, bytes = 0;
  inspect::page_uses pages;

  size_line& operator+=(const size_line& more) {
    blocks += more.blocks;
    bytes += more.bytes;
    pages += more.pages;
    return *this;
  }
};
// Returns: those with the most memory first.
std::vector<size_line> size_lines(const image_report& report) {
  std::map<std::uint64_t, size_line> by_size;
  for (const inspect::class_blocks& f : report.heaps->classes)
    if (f.live != 0) by_size[f.block_size] += {0, f.live, f.live_bytes, {}};
  for (const auto& [size, pages] : report.pages.by_size) by_size[size] += {0, 0, 0, pages};
  std::vector<size_line> all;
  for (auto& [size, line] : by_size) {
    line.block_size = size;
    all.push_back(line);
  }
  std::ranges::sort(all, [](const size_line& a, const size_line& b) {
    return std::tuple(b.pages.in_memory(), b.bytes, a.block_size) <
           std::tuple(a.pages.in_memory(), a.bytes, b.block_size);
  });
  return all;
}

// What the system counts in the heap's mappings beside its pages.
struct counted_beside {
  const char* key;
  const char* what;
  std::int64_t bytes;
};
std::vector<counted_beside> beside_pages(const inspect::page_map& pages) {
  const auto bytes = [](std::uint64_t of) { return static_cast<std::int64_t>(of); };
  return {{"other", "of other data", bytes(pages.other)},
          {"closed", "that may not be read", bytes(pages.closed)},
          {"swapped", "swapped out", -bytes(pages.swapped)},
          {"only_read", "read and never written", -std::max<std::int64_t>(pages.only_read(), 0)},
          {"unknown", "unknown", -std::min<std::int64_t>(pages.only_read(), 0)}};
}

nlohmann::json uses_json(const inspect::page_uses& uses) {
  return {{"full", uses.full}, {"partly", uses.partly}, {"hollow", uses.hollow},
          {"free", uses.free}, {"purged", uses.purged}, {"untouched", uses.untouched}};
}

}  // namespace

std::string render_pages(const image_report& report, std::size_t rows) {
  const inspect::page_map& pages = report.pages;
  const std::vector<size_line> all = size_lines(report);
  table lines({{"block"},
               {"blocks"},
               {"bytes"},
               {"full"},
               {"partly"},
               {"hollow"},
               {"free"},
               {"in memory"},
               {"purged"},
               {"untouched"}});
  const auto add = [&](std::string what, const size_line& of, std::uint64_t in_memory) {
    const inspect::page_uses& uses = of.pages;
    std::vector<std::string> cells{std::move(what), of.blocks == 0 ? "" : format_count(of.blocks)};
    for (const std::uint64_t each : {of.bytes, uses.full, uses.partly, uses.hollow, uses.free,
                                     in_memory, uses.purged, uses.untouched})
      cells.push_back(each == 0 ? "" : format_bytes(each));
    lines.add_row(std::move(cells));
  };
  size_line more;
  size_line sum{0, 0, 0, pages.no_block};
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum += all[i];
    if (i < rows)
      add(all[i].block_size == 0 ? "large" : format_count(all[i].block_size), all[i],
          all[i].pages.in_memory());
    else
      more += all[i];
  }
  if (all.size() > rows)
    add(fmt::format("{} more", all.size() - rows), more, more.pages.in_memory());
  add("none", {0, 0, 0, pages.no_block}, pages.no_block.in_memory());
  add("tables", {}, pages.own);
  add("all", sum, pages.in_memory());
  std::string text =
      "\nThe heap's pages by the size of their blocks (hollow: less than a quarter is in use):\n" +
      lines.render(2) + "  " + format_bytes(pages.in_memory());
  for (const counted_beside& each : beside_pages(pages))
    if (each.bytes != 0)
      text +=
          fmt::format(" {} {} {}", each.bytes < 0 ? '-' : '+',
                      format_bytes(static_cast<std::uint64_t>(std::abs(each.bytes))), each.what);
  return text +
         fmt::format(" = {} {} the heap's mappings\n", format_bytes(pages.resident),
                     report.path.empty() ? "that the system counts in" : "that the core has of");
}

nlohmann::json pages_json(const image_report& report) {
  nlohmann::json all;
  for (const size_line& line : size_lines(report)) {
    nlohmann::json one = uses_json(line.pages);
    one.update({{"block_size", line.block_size}, {"blocks", line.blocks}, {"bytes", line.bytes}});
    all["by_size"].push_back(std::move(one));
  }
  all["pages"] = uses_json(report.pages.sum());
  all["pages"]["no_block"] = uses_json(report.pages.no_block);
  all["pages"]["tables"] = report.pages.own;
  all["pages"]["in_memory"] = report.pages.in_memory();
  all["pages"]["mappings"] = report.pages.resident;
  for (const counted_beside& each : beside_pages(report.pages))
    all["pages"]["beside"][each.key] = each.bytes;
  return all;
}

}  // namespace ashlar::cli
