// tools/trace/source.hpp: where the bytes of a trace are: a file, or memory. Layer: trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ashlar::trace {

class byte_source {
 public:
  virtual ~byte_source() = default;
  /// Effects: reads from `offset` on. Returns: how many bytes there were, fewer than `into` holds only at the end.
  /// Throws: trace_error when the system refuses.
  virtual std::size_t read(std::uint64_t offset, std::span<std::uint8_t> into) = 0;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// What messages call it.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

/// Throws: trace_error where there is no such file, it cannot be read, or it has no end, as a pipe.
std::unique_ptr<byte_source> open_file_source(const std::string& path);
std::unique_ptr<byte_source> memory_source(std::string name, std::string bytes);

}  // namespace ashlar::trace
