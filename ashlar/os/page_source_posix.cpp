// os/page_source_posix.cpp: os/page_source.hpp by page_calls.
// Layer: os.
#include <algorithm>
#include <cerrno>
#include <cstdint>

#include <ashlar/os/page_calls.hpp>
#include <ashlar/os/page_source.hpp>

namespace ashlar::os {
namespace {

/// Returns: `bytes` in whole pages, 0 when that overflows.
std::size_t whole_pages(std::size_t bytes, std::size_t page) noexcept {
  bytes = std::max<std::size_t>(bytes, 1);
  return bytes > SIZE_MAX - (page - 1) ? 0 : (bytes + page - 1) & ~(page - 1);
}

}  // namespace

void* page_source::allocate(std::size_t size_bytes, std::size_t alignment) noexcept {
  const std::size_t page = page_calls::page_bytes();
  const std::size_t bytes = whole_pages(size_bytes, page);
  // What a mapping may miss of the alignment is mapped too, and cut off again.
  const std::size_t spare = alignment > page ? alignment - page : 0;
  if (bytes == 0 || spare > SIZE_MAX - bytes) return nullptr;
  const int saved = errno;
  void* const mapped = page_calls::map(nullptr, bytes + spare, PROT_READ | PROT_WRITE, 0);
  if (mapped == MAP_FAILED) {
    errno = saved;
    return nullptr;
  }
  char* const begin = static_cast<char*>(mapped);
  const std::size_t before =
      spare == 0 ? 0 : (0 - reinterpret_cast<std::uintptr_t>(begin)) & (alignment - 1);
  if (before != 0) page_calls::unmap(begin, before);
  if (before != spare) page_calls::unmap(begin + before + bytes, spare - before);
  errno = saved;
  return begin + before;
}

void page_source::deallocate(void* p, std::size_t size_bytes, std::size_t) noexcept {
  if (p == nullptr) return;
  const int saved = errno;
  page_calls::unmap(p, whole_pages(size_bytes, page_calls::page_bytes()));
  errno = saved;
}

}  // namespace ashlar::os
