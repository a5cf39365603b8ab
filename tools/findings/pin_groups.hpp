// tools/findings/pin_groups.hpp: call sites whose blocks lie together in hollow pages. Layer:
// findings.
//
// A session is a structure, its name and its buffer: three sites, and a page is free only when all
// three have left it. So what would be moved is a group of sites.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/findings/page_use.hpp"

namespace ashlar::findings {

struct pin_group {
  std::vector<std::uint32_t> sites;  ///< sorted
  std::uint64_t pages_alone = 0;     ///< hollow pages in which no other site has a block
};

inline constexpr std::size_t most_pin_groups = 4;
inline constexpr std::size_t most_sites_of_group = 8;

/// Returns: groups without a common site, the most pages first, those of `least_pages` alone at
/// least. A site joins a group if the group then holds a tenth more pages alone, for each site that
/// joins with it. Complexity: O(sets of holders), times a constant.
[[nodiscard]] std::vector<pin_group> pin_groups(const hollow_pages& of, std::uint64_t least_pages);

}  // namespace ashlar::findings
