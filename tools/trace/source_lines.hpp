// tools/trace/source_lines.hpp: the function, file and line of a place in a program or library, from
// its debug information. Layer: trace.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace ashlar::trace {

struct source_place {
  std::string function;  // empty: unknown; so is the file
  std::string file;
  std::uint32_t line = 0;
};

/// Names return addresses by the files as they are now. Not thread-safe.
class source_lines {
 public:
  source_lines();
  ~source_lines();
  source_lines(const source_lines&) = delete;
  source_lines& operator=(const source_lines&) = delete;

  /// Whether this build can read lines (elfutils' libdw); without it only functions are found.
  static bool reads_lines();

  /// Returns: what is known of the call that returns to `offset` bytes behind the lowest address at
  /// which the ELF file `path` is loaded. Separate debug information is looked for where the system
  /// keeps it.
  source_place find(const std::string& path, std::uint64_t offset);

  /// Returns: the address of that call in the file's own numbers, as addr2line wants it.
  std::uint64_t address_of_call(const std::string& path, std::uint64_t offset);

 private:
  class debug_information;
  class module;
  module& open(const std::string& path);

  std::map<std::string, std::unique_ptr<module>> modules_;
};

}  // namespace ashlar::trace
