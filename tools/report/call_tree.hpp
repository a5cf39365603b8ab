// tools/report/call_tree.hpp: the recorded call stacks as one tree, from the program's start inwards. Layer: report.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/trace/call_names.hpp"
#include "tools/trace/format.hpp"

namespace ashlar::report {

/// What was allocated by one call stack, or by all that pass through a node.
struct call_counts {
  std::uint64_t births = 0;
  std::uint64_t bytes = 0;  ///< of all births
  std::uint64_t blocks_at_peak = 0;
  std::uint64_t bytes_at_peak = 0;
  std::uint64_t blocks_at_end = 0;  ///< that were still held
  std::uint64_t bytes_at_end = 0;
};

struct call_node {
  std::string name;
  std::string source;        ///< "file:line" of the call; empty: unknown
  std::uint32_t parent = 0;  ///< index; the root's is its own
  call_counts counts;        ///< of what is below it, too
};

/// The calls of a stack, from the inside out.
using names_of_stack =
    std::function<std::vector<trace::named_call>(const trace::stack_definition&)>;

/// Returns: the nodes, parents before children, children from the largest bytes_at_peak down. Node 0 is the program.
/// What is below a 500th of the program in every count is summed up as "(smaller)" beside its siblings.
/// Requires: counts[i] is of stacks[i]; `without_stack` is what had none.
[[nodiscard]] std::vector<call_node> call_tree(const std::vector<trace::stack_definition>& stacks,
                                               const std::vector<call_counts>& counts,
                                               const call_counts& without_stack,
                                               const names_of_stack& names_of);

}  // namespace ashlar::report
