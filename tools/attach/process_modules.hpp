// tools/attach/process_modules.hpp: the files that a process has mapped. Layer: attach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "tools/trace/process_memory.hpp"

namespace ashlar::attach {

/// Effects: copies bytes out of a process, or into it. Returns: false: not all of them are mapped.
[[nodiscard]] bool read_bytes(pid_t pid, std::uint64_t address, void* to, std::size_t bytes);
[[nodiscard]] bool write_bytes(pid_t pid, std::uint64_t address, const void* from,
                               std::size_t bytes);

class process_modules {
 public:
  /// Throws: files::command_error.
  explicit process_modules(pid_t pid);

  /// Returns: the mapped file whose name, without its folder, begins so; empty: there is none.
  [[nodiscard]] std::string find_file(std::string_view name_begin) const;
  /// Returns: the GNU C library; empty: the process has another one, or none.
  [[nodiscard]] std::string c_library() const;
  /// Returns: where a mapped file has this function; nothing: it has none, or is not mapped.
  [[nodiscard]] std::optional<std::uint64_t> find_function(const std::string& path,
                                                           const char* name) const;
  /// Returns: the mapped programs and libraries that have a function of this name.
  [[nodiscard]] std::vector<std::string> files_with(const char* name) const;
  /// Returns: null where nothing is mapped.
  [[nodiscard]] const trace::process_mapping* find(std::uint64_t address) const;

 private:
  pid_t pid_;
  std::vector<trace::process_mapping> parts_;  // in order
};

}  // namespace ashlar::attach
