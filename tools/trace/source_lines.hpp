// tools/trace/source_lines.hpp: the function, file and line of a place in a program or library, from
// its debug information. Layer: trace.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/trace/format.hpp"

namespace ashlar::trace {

/// What a file is now, beside what it was when a trace was recorded.
enum class file_state {
  same,      ///< or nobody knows what it was
  replaced,  ///< another build stands at its path
  gone,
};

/// What comes of the variable DEBUGINFOD_URLS, which names debuginfod servers.
enum class debug_servers {
  not_named,   ///< so no server is asked
  asked,       ///< for what is nowhere here, by build id
  no_library,  ///< they are named, but libdebuginfod is not installed
};

/// A variable that is there as long as the program runs.
struct static_variable {
  std::string name;
  std::uint64_t bytes = 0;  ///< 0: there is none
  source_place place{};     ///< where it stands, as far as that is known
};

/// Names places in files as they are now. Debug information may be in the file itself, in a file that
/// its .gnu_debuglink names, by its build id in the system's folders, or with a debuginfod server.
/// libdw asks the servers: it loads libdebuginfod at run time, so nothing here links it. Not
/// thread-safe.
class source_lines {
 public:
  source_lines();
  ~source_lines();
  source_lines(const source_lines&) = delete;
  source_lines& operator=(const source_lines&) = delete;

  static debug_servers servers();

  /// Returns: what is known of a place, in the file's own numbers: first the innermost function that
  /// the compiler put inline there, last the function that is called. One at least. `build_id`: what
  /// the file has to be; empty: it does not matter. Of a file that is another one now nothing is known.
  std::vector<source_place> at(const std::string& path, std::uint64_t address,
                               const std::string& build_id);
  /// The same of the call that returns to `offset` bytes behind the lowest address at which the file
  /// is loaded.
  std::vector<source_place> of_call(const std::string& path, std::uint64_t offset);

  /// Returns: the largest variable in the data that a file's program may write. Complexity: O(symbols
  /// and variables), each time.
  static_variable largest_variable(const std::string& path, const std::string& build_id);

  file_state state_of(const std::string& path, const std::string& build_id);

 private:
  class debug_information;
  class module;
  module& open(const std::string& path, const std::string& build_id);

  std::map<std::pair<std::string, std::string>, std::unique_ptr<module>> modules_;
};

}  // namespace ashlar::trace
