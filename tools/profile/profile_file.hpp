// tools/profile/profile_file.hpp: a profile as bytes, and back. docs/profile-format.md tells it in words. Layer: profile.
//
//   [ magic | version | grid | body length ] [ body: varints ] [ checksum ]
//
// Equal profiles are equal bytes, whatever wrote them: there is one way to write each number, and nothing is compressed
// (a compressor's next version would write other bytes).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/profile/profile.hpp"
#include "tools/trace/source.hpp"

namespace ashlar::profiling {

/// The first byte is no text, and the last ones are what a transfer as text would change.
inline constexpr std::string_view profile_magic{
    "\x89"
    "APR\r\n\x1a\n",
    8};
inline constexpr std::uint32_t profile_version = 1;
/// More than the largest profile there can be.
inline constexpr std::uint32_t profile_bytes_max = 8u << 20;

[[nodiscard]] std::string encode(const profile& made);

/// Throws: trace::trace_error, which names file and offset. Memory: a small multiple of the bytes, 8 MiB at most.
[[nodiscard]] profile decode(trace::byte_source& from);

/// decode() of the file. Throws: trace::trace_error.
[[nodiscard]] profile read_profile(const std::string& path);

/// Returns: whether the file begins as a profile does; decode() says whether it is one. Throws: trace::trace_error where
/// it cannot be read.
[[nodiscard]] bool is_profile(const std::string& path);

}  // namespace ashlar::profiling
