// os/system_space.hpp: address space, memory and time from the operating system.
// Layer: os. One file per system implements it; this header names no system.
// Models heap's address_space concept, where each function is described. Thread-safe; keeps errno.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashlar::os {

/// Whether memory gets huge pages, where the system has a choice.
enum class huge_pages : std::uint8_t { as_the_system_says, never, always };

class system_space {
 public:
  [[nodiscard]] static void* reserve(std::size_t bytes) noexcept;
  [[nodiscard]] static void* reserve_zeros(std::size_t bytes) noexcept;
  [[nodiscard]] static bool commit(void* p, std::size_t bytes) noexcept;
  [[nodiscard]] static bool populate(void* p, std::size_t bytes) noexcept;
  /// Effects: committed [p, p + bytes) gets huge pages where they fit, or none. Nothing where the
  /// system has no choice.
  static void choose_pages(void* p, std::size_t bytes, huge_pages which) noexcept;
  [[nodiscard]] static bool purge(void* p, std::size_t bytes) noexcept;
  [[nodiscard]] static bool renew(void* p, std::size_t bytes) noexcept;
  /// Effects: whole pages hold nothing any more and cannot be accessed until they are committed
  /// again, when they are zero. Returns: false when the system refused; then they may still be as
  /// they were.
  [[nodiscard]] static bool close(void* p, std::size_t bytes) noexcept;
  /// Effects: as `close`, for a few pages: they stay a part of their mapping, so a fork copies them
  /// in no time, and a process may have any number. Returns: false, with nothing changed, where the
  /// system cannot (Linux before 6.13).
  [[nodiscard]] static bool guard(void* p, std::size_t bytes) noexcept;
  /// Effects: no page of [p, p + bytes) is guarded. Before `commit`, which opens those that are
  /// closed.
  static void unguard(void* p, std::size_t bytes) noexcept;
  [[nodiscard]] static bool move(void* from, void* to, std::size_t bytes) noexcept;
  static void release(void* p, std::size_t bytes) noexcept;
  [[nodiscard]] static void* find_gap(const void* near, std::size_t& bytes) noexcept;
  [[nodiscard]] static bool claim(void* p, std::size_t bytes) noexcept;
  static void leave_gap(void* p) noexcept;
  [[nodiscard]] static std::size_t resident(const void* p, std::size_t bytes) noexcept;
  [[nodiscard]] static std::size_t limit() noexcept;
  [[nodiscard]] static std::size_t physical() noexcept;
  [[nodiscard]] static std::size_t processors() noexcept;
  [[nodiscard]] static std::uint64_t now_ms() noexcept;
  [[nodiscard]] static std::uint64_t secret() noexcept;
};

/// Returns: bytes of this process that are in memory now (RSS); 0 where the system does not tell.
[[nodiscard]] std::size_t resident_bytes() noexcept;

}  // namespace ashlar::os
