// misuse/corpus/component.hpp: a component as the faults see it: some calls, and what it cannot express.
// Functions, not virtual ones: what a component does not have is a null pointer, and its cell in the matrix
// is then "not applicable".
#pragma once

#include <cstddef>

namespace corpus {

inline constexpr std::size_t bytes_behind_max = 256;

struct component {
  const char* name;
  /// Bytes asked for in each allocation: all that the block has, so that the next byte is not its slack.
  std::size_t block_size = 64;

  /// Returns: a block of `size` bytes, or null. A pool of one size has null for every other size.
  void* (*allocate)(std::size_t size) = nullptr;
  void (*release)(void* block) = nullptr;
  /// Effects: what is checked late is checked now, as far as it can be asked for. Returns: whether the
  /// component says that it is sound.
  bool (*settle)() = nullptr;

  /// False: a caller has no address to pass (a container's memory).
  bool takes_addresses = true;
  /// Effects: release, told a size.
  void (*release_sized)(void* block, std::size_t size) = nullptr;
  void* (*reallocate)(void* block, std::size_t size) = nullptr;
  /// Returns: a live block of this size that another component of the kind gave.
  void* (*take_from_another)(std::size_t size) = nullptr;
  /// Effects: some blocks are left in a component that was asked to say so at its end.
  void (*leave_blocks)() = nullptr;

  /// Bytes behind the component's own memory, bytes_behind_max of them: where a forged link does most harm. Null:
  /// any bytes will do.
  std::byte* (*bytes_behind)() = nullptr;
};

/// Runs the fault named by the second argument on the component named by the first.
int run(const component* first, std::size_t count, int argument_count, char** arguments);

template <std::size_t Count>
int run(const component (&components)[Count], int argument_count, char** arguments) {
  return run(components, Count, argument_count, arguments);
}

/// Returns: `p`, as something the compiler knows nothing of: it would warn of a misuse, or optimise it away.
void* hidden(void* p) noexcept;

}  // namespace corpus
