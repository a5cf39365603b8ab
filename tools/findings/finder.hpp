// tools/findings/finder.hpp: a trace's findings, from one pass over it. Layer: findings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/findings/finding.hpp"
#include "tools/findings/site_history.hpp"
#include "tools/findings/site_table.hpp"
#include "tools/trace/lifetimes.hpp"

namespace ashlar::findings {

/// What was looked at, beside the findings.
struct findings_of_run {
  run_totals totals;
  std::vector<finding> list;         ///< the best first
  std::uint64_t in_interpreter = 0;  ///< of a script's run: findings that were left out
  /// Programs and libraries whose lines are unknown, though a hundredth of all allocations is
  /// theirs.
  std::vector<std::string> without_lines;
};

/// Counts steps that somebody else reads. Not thread-safe.
/// Memory: an entry for each call site, stack, thread and living block; none grows with the events.
class finder {
 public:
  /// `by`: the allocator that served the program. Requires: the stacks live longer.
  finder(const std::vector<trace::stack_definition>& stacks, names_of_stack names_of, rounding by);
  finder(const finder&) = delete;
  finder& operator=(const finder&) = delete;

  /// Requires: each step of the trace, in order.
  void count(const trace::step& s) {
    own_histories_.count(s);
    caller_histories_.count(s);
  }
  [[nodiscard]] findings_of_run findings() const;
  [[nodiscard]] const site_table& sites() const { return sites_; }

 private:
  const std::vector<trace::stack_definition>& stacks_;
  names_of_stack names_of_;
  site_table sites_;
  site_histories own_histories_;
  site_histories caller_histories_;
};

}  // namespace ashlar::findings
