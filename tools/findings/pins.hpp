// tools/findings/pins.hpp: the findings about pages that few live bytes keep. Layer: findings.
//
//   first pass    page_use: hollow pages at the worst moment, by site -> pin_groups: sites that lie
// together
//   second pass   pin_replay: what is saved if a group lies elsewhere -> findings
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "tools/findings/finding.hpp"
#include "tools/findings/page_use.hpp"
#include "tools/findings/pin_groups.hpp"
#include "tools/findings/site_table.hpp"

namespace ashlar::findings {

namespace thresholds {
inline constexpr std::uint64_t least_pinned = 1024 * 1024;  ///< that a finding saves
inline constexpr std::uint64_t pinned_percent = 10;         ///< the same, of the bytes in all pages
inline constexpr std::uint64_t other_callers_percent = 5;   ///< of a line's births
}  // namespace thresholds

/// What a line of the program pins at a moment.
struct pinned_line {
  trace::named_call line;
  std::uint32_t site = 0;  ///< as in page_change
  pin_figures figures;
  std::uint64_t pages_alone = 0;  ///< hollow pages that no other line has blocks in
};

/// Not thread-safe. Does not own the table and the stacks.
class pin_finder {
 public:
  pin_finder(const std::vector<trace::stack_definition>& stacks, names_of_stack names_of,
             const site_table& sites, const run_course& course);
  pin_finder(const pin_finder&) = delete;
  pin_finder& operator=(const pin_finder&) = delete;

  /// Requires: each step of the trace, in order.
  void count(const trace::step& s);
  /// Effects: gives `steps` of the same trace again to a function, if there is anything to verify.
  /// Requires: called once, behind all steps. Returns: the findings, each with the saving that the
  /// replay has shown.
  using each_step = std::function<void(const trace::step&)>;
  std::vector<finding> findings(const std::function<void(const each_step&)>& again);

  [[nodiscard]] const page_use& use() const { return use_; }
  /// Returns: the moment that is told of: the worst one, else the end.
  [[nodiscard]] const hollow_pages& told() const {
    return use_.worst() ? *use_.worst() : use_.at_end();
  }
  /// Returns: the line of a page's holder, an index for pinned_line::site; nobody: it has none.
  [[nodiscard]] std::uint32_t line_of(std::uint32_t fine) const {
    return fine < line_of_.size() ? line_of_[fine] : stack_sites::nobody;
  }
  [[nodiscard]] const trace::named_call& call_of(std::uint32_t line) const {
    const site& at = table_.sites(owned_by::first_own_call)[line];
    return at.calls[at.first_own];
  }
  /// Returns: by line, the most pinned bytes first. What is no line's is left out.
  [[nodiscard]] std::vector<pinned_line> lines(const hollow_pages& at) const;

 private:
  [[nodiscard]] const site& named(std::uint32_t fine) const;
  [[nodiscard]] bool has_other_callers(std::uint32_t line, const pin_group& group) const;
  finding begun(const pin_group& group) const;

  const std::vector<trace::stack_definition>& stacks_;
  names_of_stack names_of_;
  const site_table& table_;
  run_course course_;
  // A site here is a line with its caller, and behind these are lines without one.
  stack_sites fine_sites_;
  std::vector<std::uint32_t> line_of_;  // by fine site
  page_use use_;
  std::unordered_map<std::uint32_t, std::uint64_t> births_;  // by stack
};

}  // namespace ashlar::findings
