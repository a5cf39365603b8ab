// tools/trace/bytes.hpp: numbers as bytes: little-endian of fixed width, and LEB128. Layer: trace.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <ashlar/core/trace_format.hpp>

namespace ashlar::trace {

using byte_view = std::span<const std::uint8_t>;

inline byte_view view_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view text_of(byte_view bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <std::unsigned_integral N>
void put_fixed(std::string& out, N number) {
  for (std::size_t i = 0; i < sizeof(N); ++i)
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xff));
}
template <std::unsigned_integral N>
N get_fixed(const std::uint8_t* from) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(N); ++i) number |= std::uint64_t{from[i]} << (8 * i);
  return static_cast<N>(number);
}

/// Seven bits a byte, the low ones first; the last byte is below 128.
inline void put_varint(std::string& out, std::uint64_t number) {
  while (number >= 128) {
    out.push_back(static_cast<char>(number | 128));
    number >>= 7;
  }
  out.push_back(static_cast<char>(number));
}

/// Differences of both signs as small numbers: 0, -1, 1, -2, ...
constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
constexpr std::uint64_t unzigzag(std::uint64_t number) {
  return number >> 1 ^ ((number & 1) != 0 ? ~std::uint64_t{0} : 0);
}

/// Reads from the front; never behind the end.
class byte_reader {
 public:
  byte_reader() = default;
  explicit byte_reader(byte_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

  /// Returns: nothing at the end, and for a number of more than 64 bits.
  std::optional<std::uint64_t> varint() {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < rest_.size() && i < 10; ++i) {
      const std::uint64_t bits = rest_[i] & 127;
      if (i == 9 && bits > 1) return std::nullopt;
      number |= bits << (7 * i);
      if (rest_[i] < 128) {
        rest_ = rest_.subspan(i + 1);
        return number;
      }
    }
    return std::nullopt;
  }
  /// Returns: how many bytes of zero come next.
  [[nodiscard]] std::size_t zeros() const {
    std::size_t count = 0;
    while (count < rest_.size() && rest_[count] == 0) ++count;
    return count;
  }
  std::optional<std::uint8_t> byte() {
    if (rest_.empty()) return std::nullopt;
    const std::uint8_t value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  std::optional<byte_view> take(std::uint64_t count) {
    if (count > rest_.size()) return std::nullopt;
    const byte_view taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(static_cast<std::size_t>(count));
    return taken;
  }
  /// A varint of the length, then that many bytes.
  std::optional<std::string_view> string() {
    const auto length = varint();
    if (!length) return std::nullopt;
    const auto bytes = take(*length);
    if (!bytes) return std::nullopt;
    return text_of(*bytes);
  }

 private:
  byte_view rest_;
};

inline void put_string(std::string& out, std::string_view text) {
  put_varint(out, text.size());
  out.append(text);
}

// CRC-32C (Castagnoli's polynomial, as iSCSI and ext4 use it), eight bytes a step.

namespace detail {

/// Row r: what a byte becomes when r more zero bytes follow it.
constexpr auto crc_rows = [] {
  std::array<std::array<std::uint32_t, 256>, 8> rows{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = rest >> 1 ^ ((rest & 1) != 0 ? checksum_polynomial : 0u);
    rows[0][byte] = rest;
  }
  for (std::size_t r = 1; r < rows.size(); ++r)
    for (std::size_t byte = 0; byte < 256; ++byte)
      rows[r][byte] = rows[r - 1][byte] >> 8 ^ rows[0][rows[r - 1][byte] & 0xff];
  return rows;
}();

}  // namespace detail

/// Any change of up to 32 neighbouring bits changes it.
inline std::uint32_t checksum(byte_view bytes) {
  using detail::crc_rows;
  std::uint32_t rest = ~std::uint32_t{0};
  while (bytes.size() >= 8) {
    const std::uint64_t word = get_fixed<std::uint64_t>(bytes.data()) ^ rest;
    rest = 0;
    for (std::size_t i = 0; i < 8; ++i) rest ^= crc_rows[7 - i][word >> (8 * i) & 0xff];
    bytes = bytes.subspan(8);
  }
  for (const std::uint8_t byte : bytes) rest = rest >> 8 ^ crc_rows[0][(rest ^ byte) & 0xff];
  return ~rest;
}

}  // namespace ashlar::trace
