// os/memory_pressure_none.cpp: os/memory_pressure.hpp where there are no control groups: nothing is
// told.
// Layer: os.
#include <ashlar/os/memory_pressure.hpp>

namespace ashlar::os {

memory_group::memory_group(const char*) noexcept {
  static_cast<void>(version_);
  static_cast<void>(mount_length_);
}

std::uint64_t memory_group::hard_limit() const noexcept {
  return UINT64_MAX;
}

bool memory_group::read(memory_pressure&) const noexcept {
  return false;
}

}  // namespace ashlar::os
