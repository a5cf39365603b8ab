// tools/trace/process_memory.hpp: the memory of another process. Layer: trace.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tools/trace/reachability.hpp"

namespace ashlar::trace {

/// A stretch of addresses, as the system tells of it.
struct process_mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  ///< in the file
  std::string rights;        ///< "r-xp"
  std::string path;          ///< empty: none; "[vdso]"
  // Bytes, where they are counted.
  std::uint64_t resident = 0;   ///< in memory
  std::uint64_t anonymous = 0;  ///< of these, what no file has
  std::uint64_t swapped = 0;    ///< in no memory
};
enum class mapping_detail : std::uint8_t { places, counts };
/// Returns: those of a process, in order; nothing where the system refuses, and errno says why. With
/// counts the system looks at each page.
[[nodiscard]] std::optional<std::vector<process_mapping>> mappings_of(
    pid_t pid, mapping_detail detail = mapping_detail::places);

/// Of a process that waits. It needs the right to trace that process, which its ancestor of the
/// same user has. Throws: std::system_error, where the system refuses.
class process_memory final : public program_memory {
 public:
  /// `stack_begin` is where the stack of the thread that waits begins to be in use: what lies below
  /// it on the first thread's stack is what calls have left there.
  process_memory(pid_t pid, std::uint64_t stack_begin) : pid_(pid), stack_begin_(stack_begin) {}

  /// Returns: the pages that the process alone has and has written to: its data, its stacks, its
  /// heap. Pages that other processes share are left out, and so is what a file holds as well.
  /// Throws: std::runtime_error, too, for a process with a mapping of more than 256 GiB.
  [[nodiscard]] std::vector<address_range> places_of_pointers() override;
  /// Requires: places_of_pointers() was called.
  [[nodiscard]] address_range data_of_c_library() override { return c_library_; }
  std::size_t read(std::uint64_t address, std::span<std::uint64_t> to) override;

 private:
  pid_t pid_;
  std::uint64_t stack_begin_;
  address_range c_library_;
};

}  // namespace ashlar::trace
