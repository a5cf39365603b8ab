// tools/replay/worker_process.hpp: the process around an execution: the script's file, memory that no allocator knows
// of, the figures of the process. Layer: replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tools/replay/script.hpp"

namespace ashlar::replay {

/// Effects: says why on standard error and ends the process with status 3, which says that the worker, not the
/// allocator, has failed.
[[noreturn]] void give_up(const char* what, int error_number);
inline constexpr int worker_gave_up = 3;

/// Zeroed memory that is resident already, from the system itself.
void* resident_memory(std::size_t bytes);
template <class T>
std::span<T> resident_array(std::size_t count) {
  return {static_cast<T*>(resident_memory((count == 0 ? 1 : count) * sizeof(T))), count};
}

/// A script in a file. Its operations are read a chunk at a time, so they are no part of the process's memory.
class script_file {
 public:
  explicit script_file(int descriptor);
  [[nodiscard]] const script_header& header() const { return header_; }
  [[nodiscard]] std::span<const script_thread> threads() const {
    return {threads_, header_.threads};
  }
  [[nodiscard]] const script_thread& inspection() const { return threads_[header_.threads]; }
  /// Effects: reads the thread's chunk number `index`. Returns: its operations, in `into`; empty behind the last.
  std::span<const operation> read_chunk(const script_thread& of, std::uint64_t index,
                                        std::span<operation> into) const;

 private:
  int descriptor_;
  script_header header_{};
  const script_thread* threads_ = nullptr;
  const std::uint32_t* chunks_ = nullptr;
};

struct processor_time {
  std::uint64_t user_ns = 0;
  std::uint64_t system_ns = 0;
};
processor_time processor_time_now();

std::uint64_t resident_bytes_now();
/// Effects: the peak begins anew, where the system can do that.
void forget_peak_resident_bytes();
std::uint64_t peak_resident_bytes();

/// Effects: writes all to standard output.
void write_result(const void* bytes, std::size_t count);

}  // namespace ashlar::replay
