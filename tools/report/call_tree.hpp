// tools/report/call_tree.hpp: the recorded call stacks as one tree, from the program's start inwards. Layer: report.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/trace/format.hpp"

namespace ashlar::report {

/// What was allocated by one call stack, or by all that pass through a node.
struct call_counts {
  std::uint64_t births = 0;
  std::uint64_t bytes = 0;  ///< of all births
  std::uint64_t blocks_at_peak = 0;
  std::uint64_t bytes_at_peak = 0;
};

struct call_node {
  std::string name;
  std::uint32_t parent = 0;  ///< index; the root's is its own
  call_counts counts;        ///< of what is below it, too
};

/// What people call the code at an address of the program.
using name_of_address = std::function<std::string(std::uint64_t)>;

/// "libfoo.so+0x1234", from what was mapped; "0x7f..." where nothing was.
[[nodiscard]] name_of_address names_by_module(std::vector<trace::module_definition> modules);

/// Returns: the nodes, parents before children, children from the largest bytes_at_peak down. Node 0 is the program.
/// What is below a 500th of the program in every count is summed up as "(smaller)" beside its siblings.
/// Requires: counts[i] is of stacks[i]; `without_stack` is what had none.
[[nodiscard]] std::vector<call_node> call_tree(const std::vector<trace::stack_definition>& stacks,
                                               const std::vector<call_counts>& counts,
                                               const call_counts& without_stack,
                                               const name_of_address& name_of);

}  // namespace ashlar::report
