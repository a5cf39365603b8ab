// tools/report/call_tree.hpp: the recorded call stacks as one tree, from the program's start inwards. Layer: report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/trace/call_names.hpp"
#include "tools/trace/format.hpp"
#include "tools/trace/lifetimes.hpp"
#include "tools/trace/step_counts.hpp"

namespace ashlar::report {

// What each call stack of each thread asked for.

/// What was allocated by one call stack, or by several.
struct call_counts {
  std::uint64_t births = 0;
  std::uint64_t bytes = 0;  ///< of all births
  std::uint64_t blocks_at_peak = 0;
  std::uint64_t bytes_at_peak = 0;
  std::uint64_t blocks_at_end = 0;  ///< that were still held
  std::uint64_t bytes_at_end = 0;
  std::uint64_t temporaries = 0;  ///< of the births: trace/step_counts.hpp

  call_counts& operator+=(const call_counts& more);
  /// Returns: whether each figure is 0, or less than a `part`-th of the same of `all`.
  [[nodiscard]] bool is_below(std::uint64_t part, const call_counts& all) const;
};

/// Not thread-safe. Memory: an entry for each stack and thread.
class call_counter {
 public:
  /// Requires: sees every step of the trace, in order.
  void count(const trace::step& s);
  /// Effects: what lives now is what lives at the peak. Complexity: O(1).
  void mark();

  struct entry {
    std::uint32_t stack = 0;   ///< its number; 0: none was recorded
    std::uint32_t thread = 0;  ///< that allocated
    call_counts counts;
  };
  [[nodiscard]] std::vector<entry> counts() const;

 private:
  [[nodiscard]] std::size_t index_of(std::uint32_t stack, std::uint32_t thread);
  void change(std::size_t i, std::uint64_t size, std::int64_t sign);

  std::unordered_map<std::uint64_t, std::size_t> index_;
  std::vector<entry> entries_;  // but for what marked counts have
  trace::marked_counts live_blocks_{0};
  trace::marked_counts live_bytes_{0};
  trace::temporary_finder temporaries_;
};

struct call_node {
  std::string name;
  std::string brief;         ///< the name without types
  std::string source;        ///< "file:line" of the call; empty: unknown
  std::uint32_t parent = 0;  ///< index; the root's is its own
  call_counts counts;        ///< of what is below it, too
};

/// The calls of a stack, from the inside out.
using names_of_stack =
    std::function<std::vector<trace::named_call>(const trace::stack_definition&)>;

/// Returns: the nodes, parents before children, children from the largest bytes_at_peak down. Node 0 is the program.
/// What is below a 500th of the program in every count is summed up as "(smaller)" beside its siblings.
[[nodiscard]] std::vector<call_node> call_tree(const std::vector<trace::stack_definition>& stacks,
                                               const std::vector<call_counter::entry>& entries,
                                               const names_of_stack& names_of);

}  // namespace ashlar::report
