// tools/sites/difference.hpp: two recordings beside each other. Layer: sites.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/trace/call_names.hpp"
#include "tools/trace/reader.hpp"
#include "tools/trace/summary.hpp"

namespace ashlar::sites {

// What a call is called in every build of a program.

/// Files that are the same in two recordings: their names without folders, and their build ids.
using equal_builds = std::set<std::pair<std::string, std::string>>;
[[nodiscard]] equal_builds builds_in_both(const trace::trace_reader& before,
                                          const trace::trace_reader& after);

/// Names calls so that two recordings can be compared: by function and file, never by address or
/// line. The file's folder and the version behind ".so" do not count, nor does the name of the
/// program itself. Where the function is unknown, the name is the offset in the file if both
/// recordings have the same build of it; otherwise it is the file alone.
class comparable_names {
 public:
  comparable_names(const trace::trace_reader& of, equal_builds builds);
  [[nodiscard]] std::string of(const trace::named_call& call) const;
  /// Returns: the call as the name means it: where that is the file alone, an offset would mislead.
  [[nodiscard]] trace::named_call shown(trace::named_call call) const;

 private:
  [[nodiscard]] bool counts_offset(const trace::named_call& call) const;

  std::string program_;
  std::map<std::string, std::string> build_ids_;  // by path
  equal_builds builds_;
};

/// Returns: the function without what a compiler adds to the copies that it makes of it, as in
/// "f.constprop.0" or "f(int) [clone .isra.0]".
[[nodiscard]] std::string without_copy_mark(std::string function);

/// Returns: "libc.so" of "/lib/libc.so.6".
[[nodiscard]] std::string file_without_version(const std::string& path);

/// Bytes or blocks of one figure.
using measure = std::uint64_t trace::stack_figures::*;

/// The same figures in both recordings.
struct compared_figures {
  trace::stack_figures before;
  trace::stack_figures after;

  [[nodiscard]] bool is_new() const { return before.births == 0; }
  [[nodiscard]] bool is_gone() const { return after.births == 0; }
  [[nodiscard]] bool grew(measure by) const { return after.*by > before.*by; }
  /// Returns: by how much it grew or shrank.
  [[nodiscard]] std::uint64_t change(measure by) const {
    return grew(by) ? after.*by - before.*by : before.*by - after.*by;
  }
  [[nodiscard]] bool is_equal() const;
  compared_figures& operator+=(const compared_figures& more);
};

struct compared_site : compared_figures {
  /// From the inside out, as the recording after has them, or else the one before; a function is
  /// there once. Empty: the calls were not recorded.
  std::vector<trace::named_call> calls;
};

/// Requests of `least` to `most` bytes.
struct compared_size : compared_figures {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// What differs in any figure, the largest change first; of the doublings there is each.
struct difference {
  compared_figures all;              ///< of the whole runs
  std::vector<compared_site> sites;  ///< the last one has no calls where some were not recorded
  std::vector<compared_size> sizes;  ///< one by one up to 1 KiB; above, each range is a doubling
  std::vector<compared_size> doublings;  ///< all sizes, each range a doubling; the smallest first
  std::size_t equal_sites = 0;           ///< that do not differ
};

/// What is compared. Requires: the summary is of this reader.
struct recording {
  const trace::trace_reader& reader;
  const trace::trace_summary& summary;
  trace::call_names& names;
};

/// Returns: how they differ, sorted by the change in `by`. Stacks are one call site where their
/// functions and files are the same (above). Of a function that occurs several times
/// in a stack only the innermost call counts, so the depth of a recursion does not matter. `depth`:
/// only so many of the innermost functions count, and their calls are shown.
[[nodiscard]] difference differ(const recording& before, const recording& after, measure by,
                                std::size_t depth);

}  // namespace ashlar::sites
