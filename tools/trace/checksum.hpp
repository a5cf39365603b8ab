// tools/trace/checksum.hpp: CRC-32C (Castagnoli's polynomial, as iSCSI and ext4 use it), eight bytes a step. Layer: trace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/trace_format.hpp>

#include "tools/trace/bytes.hpp"

namespace ashlar::trace {
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
