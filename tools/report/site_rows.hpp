// tools/report/site_rows.hpp: call sites and threads with their figures: the rows of the page's first
// table. Layer: report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/report/call_counter.hpp"
#include "tools/report/call_tree.hpp"
#include "tools/trace/call_names.hpp"
#include "tools/trace/format.hpp"

namespace ashlar::report {

/// The call that some blocks are for.
struct call_site {
  std::string name;      ///< "function in library.so", or what stands for it
  std::string function;  ///< in short, without arguments; empty: unknown
  std::string source;    ///< "file:line"; empty: unknown
  std::string module;    ///< its path; empty: it is in no file
  friend auto operator<=>(const call_site&, const call_site&) = default;
};

/// Returns: whose blocks those of a stack are. The calls are from the inside out.
using site_of_calls = std::function<call_site(const std::vector<trace::named_call>&)>;
/// The innermost call.
[[nodiscard]] call_site innermost_site(const std::vector<trace::named_call>& calls);

struct site_row {
  std::size_t site = 0;      ///< its index
  std::uint32_t thread = 0;  ///< that allocated
  call_counts counts;
};

struct site_figures {
  std::vector<call_site> sites;
  std::vector<site_row> rows;  ///< the most bytes at the peak first
};

/// Returns: each site and thread once. Their counts add up to those of the entries. What is below a
/// 10,000th of the program in every figure is summed up as "(smaller call sites)", by thread.
[[nodiscard]] site_figures site_rows(const std::vector<trace::stack_definition>& stacks,
                                     const std::vector<call_counter::entry>& entries,
                                     const names_of_stack& names_of, const site_of_calls& site_of);

}  // namespace ashlar::report
