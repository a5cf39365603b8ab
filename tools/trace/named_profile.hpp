// tools/trace/named_profile.hpp: the names of its calls, put into a profile of pprof's format. Layer:
// trace.
//
// The library's profiles have addresses alone. `go tool pprof` looks for no symbols, and of C++
// functions it reads no qualified names.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/trace/call_names.hpp"

namespace ashlar::trace {

struct named_profile {
  std::string bytes;           ///< the profile, with names
  std::uint64_t calls = 0;     ///< places in the program
  std::uint64_t named = 0;     ///< of these: that have a function's name now
  std::uint64_t lines = 0;     ///< and a file and a line
  std::uint64_t is_named = 0;  ///< that had a name before: they stay as they were
  std::vector<call_names::lost_file> lost;
  std::vector<std::string> without_lines;  ///< files of which no call has a line
};

/// How names are put in.
struct naming {
  /// Whether a file may be opened to look for names; none: any. Of others no call has one.
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::function<bool(const std::string& path)> may_read = {};
  /// The value that readers show first; empty: as it was.
  std::string_view shown_first = {};  // NOLINT(readability-redundant-member-init)
  /// What the profile says besides, as pprof -comments shows it.
  std::vector<std::string> comments = {};  // NOLINT(readability-redundant-member-init)
  /// What was found for other profiles, and gets what is found for this one; null: there is nothing.
  known_places* known = nullptr;
};

/// Returns: the profile with the names that the files of this machine tell; nothing where `bytes` are
/// no profile, or a compressed one. All that is not a name stays as it was. O(bytes).
[[nodiscard]] std::optional<named_profile> with_names(std::string_view bytes,
                                                      const naming& how = {});

}  // namespace ashlar::trace
