// tools/cli/pin_report.cpp. Layer: cli.
#include "tools/cli/pin_report.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/finding_report.hpp"
#include "tools/cli/table.hpp"
#include "tools/cli/text.hpp"
#include "tools/report/call_tree.hpp"

namespace ashlar::cli {
namespace {

using findings::hollow_pages;
using findings::page_bytes;
using findings::page_change;
using findings::page_moment;
using findings::pinned_line;

constexpr std::size_t lines_in_text = 5;
constexpr std::size_t lines_in_picture = 7;  // a picture with more colours cannot be read
constexpr std::size_t most_cells = 1600;

// A cell of the picture: free, in use, hollow by several lines, by a line that has no colour, or by
// a line: 'a' ...
constexpr char free_cell = '.';
constexpr char used_cell = '+';
constexpr char several_cell = '*';
constexpr char other_cell = 'o';

double seconds_of(std::uint64_t time, const trace_times& times) {
  return static_cast<double>(time - std::min(time, times.first)) /
         static_cast<double>(times.ticks_per_second);
}

bool is_worth_telling(const hollow_pages& at) {
  return at.figures.pinned_bytes >= findings::thresholds::least_pinned;
}

// The picture: pages in the order of their addresses, some to a cell.
class page_picture {
 public:
  explicit page_picture(const findings::pin_finder& pins)
      : pins_(pins), order_(pins.use().pages().size()), states_(order_.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    const findings::page_table& pages = pins.use().pages();
    std::ranges::sort(order_, [&](std::uint32_t a, std::uint32_t b) {
      return pages.number(a) < pages.number(b);
    });
    pages_a_cell_ = std::max<std::size_t>(1, (order_.size() + most_cells - 1) / most_cells);
    choose_lines();
  }

  [[nodiscard]] std::size_t pages_a_cell() const { return pages_a_cell_; }
  [[nodiscard]] std::size_t pages() const { return order_.size(); }
  [[nodiscard]] const std::vector<std::uint32_t>& lines() const { return lines_; }

  // Effects: goes on to the next moment. Returns: its cells.
  std::string next(const std::vector<page_change>& changes) {
    for (const page_change& c : changes) states_[c.page] = c.state;
    std::string cells;
    for (std::size_t begin = 0; begin < order_.size(); begin += pages_a_cell_)
      cells += cell_of(begin, std::min(order_.size(), begin + pages_a_cell_));
    return cells;
  }

 private:
  // Those that hold the most pages, over all moments.
  void choose_lines() {
    std::map<std::uint32_t, std::uint64_t> pages;  // by line, of all moments
    std::vector<std::uint32_t> states(order_.size());
    for (const std::vector<page_change>& changes : pins_.use().changes()) {
      for (const page_change& c : changes) states[c.page] = c.state;
      for (const std::uint32_t state : states)
        if (state >= page_change::held_by) ++pages[pins_.line_of(state - page_change::held_by)];
    }
    pages.erase(findings::stack_sites::nobody);
    std::vector<std::pair<std::uint64_t, std::uint32_t>> most;
    most.reserve(pages.size());
    for (const auto& [line, count] : pages) most.emplace_back(count, line);
    std::sort(most.rbegin(), most.rend());
    for (std::size_t i = 0; i < std::min(most.size(), lines_in_picture); ++i)
      lines_.push_back(most[i].second);
  }

  [[nodiscard]] char cell_of(std::size_t begin, std::size_t end) const {
    std::size_t used = 0;
    std::array<std::size_t, lines_in_picture + 2> hollow{};  // by line, behind them others, several
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t state = states_[order_[i]];
      if (state == page_change::in_use) ++used;
      if (state == page_change::held_by_several) ++hollow[lines_in_picture + 1];
      if (state < page_change::held_by) continue;
      const auto line = std::ranges::find(lines_, pins_.line_of(state - page_change::held_by));
      ++hollow[line == lines_.end() ? lines_in_picture
                                    : static_cast<std::size_t>(line - lines_.begin())];
    }
    const std::size_t all = std::accumulate(hollow.begin(), hollow.end(), std::size_t{0});
    if (all == 0 || all < used) return used == 0 ? free_cell : used_cell;
    const auto most = static_cast<std::size_t>(std::ranges::max_element(hollow) - hollow.begin());
    if (most == lines_in_picture + 1) return several_cell;
    return most == lines_in_picture ? other_cell : static_cast<char>('a' + most);
  }

  const findings::pin_finder& pins_;
  std::vector<std::uint32_t> order_;   // pages by address
  std::vector<std::uint32_t> states_;  // by page
  std::size_t pages_a_cell_ = 1;
  std::vector<std::uint32_t> lines_;
};

nlohmann::json line_json(const pinned_line& of) {
  nlohmann::json line = place_json(of.line);
  line["pinned_bytes"] = of.figures.pinned_bytes;
  line["live_bytes"] = of.figures.live_bytes;
  line["blocks"] = of.figures.blocks;
  line["pages_alone"] = of.pages_alone;
  return line;
}

nlohmann::json moment_json(const page_moment& of, const trace_times& times) {
  return {{"seconds", seconds_of(of.time, times)},
          {"live_bytes", of.live_bytes},
          {"held_bytes", of.held_pages * page_bytes},
          {"hollow_pages", of.hollow_pages},
          {"pinned_bytes", of.pinned_bytes}};
}

nlohmann::json tree_json(const hollow_pages& at, const std::vector<trace::stack_definition>& stacks,
                         const findings::names_of_stack& names_of) {
  std::vector<report::call_counter::entry> entries;
  for (const auto& [stack, figures] : at.by_stack) {
    report::call_counts counts;
    counts.births = std::max<std::uint64_t>(1, figures.blocks);
    counts.bytes_at_peak = figures.pinned_bytes;
    counts.blocks_at_peak = figures.blocks;
    entries.push_back({stack, 0, counts});
  }
  nlohmann::json tree = nlohmann::json::array();
  for (const report::call_node& node : report::call_tree(stacks, entries, names_of))
    tree.push_back({{"name", node.name},
                    {"brief", node.brief},
                    {"source", node.source},
                    {"parent", node.parent},
                    {"pinned_bytes", node.counts.bytes_at_peak},
                    {"blocks", node.counts.blocks_at_peak}});
  return tree;
}

}  // namespace

std::string render_pins(const findings::pin_finder& pins, const trace_times& times,
                        std::size_t rows) {
  const hollow_pages& at = pins.told();
  if (!is_worth_telling(at)) return {};
  std::string text = fmt::format(
      "pinned{} {}: {} in {} pages of 4 KiB of which less than a quarter lives; all live pages: "
      "{}\n",
      pins.where() == findings::placed_by::ashlar ? " if ashlar's heap placed each block," : "",
      at.is_end ? "at the end"
                : fmt::format("at {:.2f} s, behind the peak", seconds_of(at.figures.time, times)),
      format_bytes(at.figures.pinned_bytes), format_count(at.figures.hollow_pages),
      format_bytes(at.figures.held_pages * page_bytes));
  table lines({{"pinned"}, {"pages alone"}, {"live there"}, {"blocks"}, {"line", align::left}});
  const std::vector<pinned_line> all = pins.lines(at);
  for (std::size_t i = 0; i < std::min({all.size(), rows, lines_in_text}); ++i)
    lines.add_row({format_bytes(all[i].figures.pinned_bytes), format_count(all[i].pages_alone),
                   format_bytes(all[i].figures.live_bytes), format_count(all[i].figures.blocks),
                   printable(all[i].line.brief_text())});
  return text + lines.render(2) + "\n";
}

nlohmann::json pins_json(const findings::pin_finder& pins, const trace_times& times,
                         const std::vector<trace::stack_definition>& stacks,
                         const findings::names_of_stack& names_of) {
  const hollow_pages& at = pins.told();
  if (!is_worth_telling(at)) return {};
  nlohmann::json lines = nlohmann::json::array();
  for (const pinned_line& line : pins.lines(at)) lines.push_back(line_json(line));
  page_picture picture(pins);
  nlohmann::json moments = nlohmann::json::array();
  for (std::size_t i = 0; i < pins.use().moments().size(); ++i) {
    moments.push_back(moment_json(pins.use().moments()[i], times));
    moments.back()["cells"] = picture.next(pins.use().changes()[i]);
  }
  nlohmann::json colours = nlohmann::json::array();
  for (const std::uint32_t line : picture.lines())
    colours.push_back(place_json(pins.call_of(line)));
  nlohmann::json moment = moment_json(at.figures, times);
  moment["is_end"] = at.is_end;
  moment["number"] = at.stretch;
  return {{"placed_by", pins.where() == findings::placed_by::ashlar ? "ashlar" : "recorded"},
          {"page_bytes", page_bytes},
          {"moment", std::move(moment)},
          {"lines", std::move(lines)},
          {"tree", tree_json(at, stacks, names_of)},
          {"pages", picture.pages()},
          {"pages_a_cell", picture.pages_a_cell()},
          {"holders", std::move(colours)},
          {"moments", std::move(moments)}};
}

}  // namespace ashlar::cli
