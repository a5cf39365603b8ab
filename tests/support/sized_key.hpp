// support/sized_key.hpp: keys and values of a chosen size and alignment.
#pragma once

#include <cstddef>

namespace support {

template <std::size_t Size, std::size_t Alignment>
struct alignas(Alignment) sized_key {
  unsigned char bytes[Size] = {};
  sized_key() = default;
  sized_key(int i) {  // NOLINT(google-explicit-constructor)
    bytes[0] = static_cast<unsigned char>(i);
    if constexpr (Size > 1) bytes[1] = static_cast<unsigned char>(i / 256);
  }
  [[nodiscard]] int get() const noexcept {
    if constexpr (Size > 1) {
      return bytes[0] + 256 * bytes[1];
    } else {
      return bytes[0];
    }
  }
  friend bool operator<(const sized_key& a, const sized_key& b) noexcept {
    return a.get() < b.get();
  }
  friend bool operator==(const sized_key& a, const sized_key& b) noexcept {
    return a.get() == b.get();
  }
};

}  // namespace support
