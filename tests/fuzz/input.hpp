// fuzz/input.hpp: the bytes of one input, read as the choices of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fuzz {

/// Choices taken from the front; when no byte is left, every choice is 0. So each input is a program, and a
/// shorter one is mostly its beginning, which is what lets a fuzzer minimise.
class input {
 public:
  explicit input(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }

  /// A number below `bound`, which must not be 0, from as many bytes as `bound` needs.
  std::size_t below(std::size_t bound) {
    std::size_t value = 0;
    for (std::size_t most = bound - 1; most != 0; most >>= 8) value = value << 8 | byte();
    return value % bound;
  }
  /// True in about `percent` of 100 bytes.
  bool chance(unsigned percent) { return below(100) < percent; }

  /// Everything that is left.
  std::string text() {
    std::string all(rest_.begin(), rest_.end());
    rest_ = {};
    return all;
  }

 private:
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t b = rest_.front();
    rest_ = rest_.subspan(1);
    return b;
  }

  std::span<const std::uint8_t> rest_;
};

/// A size as programs ask for them: mostly small, often beside a power of two, rarely large.
inline std::size_t request_size(input& in) {
  switch (in.below(8)) {
    case 0:
    case 1:
    case 2:
      return in.below(256);
    case 3:
      return in.below(4096);
    case 4:
      return (std::size_t{1} << in.below(18)) - 1 + in.below(3);
    case 5:
      return in.below(64 * 1024);
    case 6:  // where blocks stop to share slabs, and where they stop to have a class
      return (in.chance(50) ? 32 : 128) * 1024 - 17 + in.below(35);
    default:
      return in.below(1536 * 1024);
  }
}

/// A power of two from 1 to 2 MiB; large ones are rare.
inline std::size_t request_alignment(input& in) {
  const std::size_t shift = in.below(64);
  return std::size_t{1} << (shift < 22 ? shift : shift % 13);
}

}  // namespace fuzz
