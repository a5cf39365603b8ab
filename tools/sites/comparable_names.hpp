// tools/sites/comparable_names.hpp: what a call is called in every build of a program. Layer: sites.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "tools/trace/call_names.hpp"
#include "tools/trace/reader.hpp"

namespace ashlar::sites {

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

}  // namespace ashlar::sites
