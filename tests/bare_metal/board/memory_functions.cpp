// The two functions that a freestanding compiler may ask of an image without a C library.
#include <cstddef>

extern "C" {

[[gnu::optimize("no-tree-loop-distribute-patterns")]] void* memcpy(void* to, const void* from,
                                                                   std::size_t n) noexcept {
  auto* const t = static_cast<unsigned char*>(to);
  const auto* const f = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < n; ++i) t[i] = f[i];
  return to;
}

[[gnu::optimize("no-tree-loop-distribute-patterns")]] void* memset(void* to, int value,
                                                                   std::size_t n) noexcept {
  auto* const t = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < n; ++i) t[i] = static_cast<unsigned char>(value);
  return to;
}
}
