// tools/findings/rising.cpp. Layer: findings.
#include "tools/findings/rising.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tools/findings/call_owner.hpp"
#include "tools/findings/rules.hpp"

namespace ashlar::findings {

using namespace thresholds;

std::vector<finding> rising_findings(const ashlar::sites::growing_sites& growing,
                                     const run_totals& run) {
  struct line {
    finding of;
    std::uint64_t allocated = 0;
    std::uint64_t at_end = 0;
    std::uint64_t lost = 0;
  };
  std::map<std::string, line> lines;
  for (const ashlar::sites::growing_site& site : growing.sites) {
    const std::optional<std::size_t> owner = owner_of(site.calls);
    if (!owner) continue;
    line& to = lines[site.calls[*owner].text()];
    finding& f = to.of;
    if (f.calls.empty()) {  // the steepest is first
      f.how_sure = sureness::inferred;
      f.calls = site.calls;
      f.owner = *owner;
      f.main_stack = site.stack;
      f.rose_for_seconds = growing.seconds;
      f.confidence = site.how.confidence;
    }
    f.confidence = std::min(f.confidence, site.how.confidence);
    f.allocations += site.births;
    f.bytes_saved_at_end += static_cast<std::uint64_t>(site.bytes);
    to.allocated += site.bytes_allocated;
    to.at_end += site.bytes_at_end;
    to.lost += site.bytes_lost;
  }
  std::vector<finding> found;
  for (auto& [text, each] : lines) {
    const bool is_kept =
        each.at_end * 100 >= each.allocated * fitting && each.lost >= each.at_end / 2;
    const auto percent = static_cast<double>(is_kept ? percent_of_run : rising_percent);
    // A slope may say more than there is.
    each.of.bytes_saved_at_end =
        std::min(each.of.bytes_saved_at_end, is_kept ? each.at_end : run.peak_bytes);
    const auto bytes = static_cast<double>(each.of.bytes_saved_at_end);
    if (each.of.bytes_saved_at_end < least_bytes ||
        bytes * 100 < percent * static_cast<double>(run.peak_bytes))
      continue;
    each.of.kind = is_kept ? finding_kind::leak : finding_kind::rising;
    found.push_back(std::move(each.of));
  }
  return found;
}

}  // namespace ashlar::findings
