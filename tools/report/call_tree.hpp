// tools/report/call_tree.hpp: the recorded call stacks as one tree, from the program's start inwards. Layer: report.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/report/call_counter.hpp"
#include "tools/trace/call_names.hpp"
#include "tools/trace/format.hpp"

namespace ashlar::report {

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
