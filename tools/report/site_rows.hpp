// tools/report/site_rows.hpp: call sites and threads with their figures: the rows of the page's first
// table. Layer: report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/report/call_tree.hpp"
#include "tools/trace/call_names.hpp"

namespace ashlar::report {

/// The call that some blocks are for.
struct call_site {
  std::string name;      ///< "function in library.so", or what stands for it
  std::string function;  ///< in short, without arguments; empty: unknown
  std::string source;    ///< "file:line"; empty: unknown
  std::string module;    ///< its path; empty: it is in no file
  friend auto operator<=>(const call_site&, const call_site&) = default;
};
/// Returns: its members under their names, as the page's data have them.
[[nodiscard]] nlohmann::json site_json(const call_site& site);

/// Returns: whose blocks those of a stack are. The calls are from the inside out.
using site_of_calls = std::function<call_site(const std::vector<trace::named_call>&)>;
/// Returns: "function at file:line", or "function in file", as far as that is known.
[[nodiscard]] std::string place_of(const call_site& site);

using sites_by_stack = std::unordered_map<std::uint32_t, call_site>;  // by the stack's number

struct site_row {
  std::size_t site = 0;      ///< its index
  std::uint32_t thread = 0;  ///< that allocated
  call_counts counts;
};

struct site_figures {
  std::vector<call_site> sites;
  std::vector<site_row> rows;  ///< the most bytes at the peak first
};

/// Returns: each site and thread once. Their counts add up to those of the entries; a stack that
/// `sites` does not have is "(no stack recorded)". What is below a 10,000th of the program in every
/// figure is summed up as "(smaller call sites)", by thread.
[[nodiscard]] site_figures site_rows(const std::vector<call_counter::entry>& entries,
                                     const sites_by_stack& sites);

}  // namespace ashlar::report
