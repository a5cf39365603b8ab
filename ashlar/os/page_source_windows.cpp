// os/page_source_windows.cpp: os/page_source.hpp by VirtualAlloc.
// Layer: os.
#include <algorithm>
#include <cstdint>

#include <ashlar/os/page_source.hpp>
#include <ashlar/os/windows.hpp>

namespace ashlar::os {
namespace {

constexpr std::size_t page_bytes = 4096;
/// Addresses that the system gives begin at a multiple of this.
constexpr std::size_t granularity = 64 * 1024;

void* map(void* at, std::size_t bytes) noexcept {
  return ::VirtualAlloc(at, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

/// Returns: memory at a multiple of `alignment`. No part of a mapping can go back, so addresses are
/// looked for, given back, and asked for by name. Another thread may have taken them meanwhile:
/// again.
void* map_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  if (alignment > SIZE_MAX - bytes) return nullptr;
  for (int tries = 0; tries < 16; ++tries) {
    void* const room = ::VirtualAlloc(nullptr, bytes + alignment, MEM_RESERVE, PAGE_NOACCESS);
    if (room == nullptr) return nullptr;
    const auto begin = reinterpret_cast<std::uintptr_t>(room);
    ::VirtualFree(room, 0, MEM_RELEASE);
    void* const p = map(reinterpret_cast<void*>((begin + alignment - 1) & ~(alignment - 1)), bytes);
    if (p != nullptr) return p;
  }
  return nullptr;
}

}  // namespace

void* page_source::allocate(std::size_t size_bytes, std::size_t alignment) noexcept {
  const error_keeper keeper;
  size_bytes = std::max<std::size_t>(size_bytes, 1);
  if (size_bytes > SIZE_MAX - (page_bytes - 1)) return nullptr;
  const std::size_t bytes = (size_bytes + page_bytes - 1) & ~(page_bytes - 1);
  return alignment <= granularity ? map(nullptr, bytes) : map_aligned(bytes, alignment);
}

void page_source::deallocate(void* p, std::size_t, std::size_t) noexcept {
  if (p == nullptr) return;
  const error_keeper keeper;
  ::VirtualFree(p, 0, MEM_RELEASE);
}

}  // namespace ashlar::os
