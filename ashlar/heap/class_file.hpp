// heap/class_file.hpp: block sizes as text: what `ashlar tune --mode heap` writes and ASHLAR_CONFIG
// names.
// Layer: heap. docs/tuning.md describes the format for users; this is its one definition in code:
//
//   file  := "ashlar-classes" version size...     words, separated by blanks and ends of lines;
//                                                 '#' begins a comment up to the end of its line
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/core/size_class.hpp>

namespace ashlar::detail {

inline constexpr std::string_view class_file_mark = "ashlar-classes";
inline constexpr std::uint32_t class_file_version = 1;
inline constexpr std::size_t class_file_bytes_max = 16 * 1024;

/// What a text says, or what is wrong with it.
struct class_file {
  std::array<std::uint32_t, class_count>
      sizes{};  ///< one more than there may be, which is what is wrong then
  std::size_t count = 0;
  const char* wrong =
      nullptr;  ///< null: it can be used; else the end of a sentence that begins with `word`
  std::string_view word;  ///< the word that is wrong; empty: the text ends too early
  std::size_t line = 1;   ///< of that word
};

/// Returns: the block sizes in `text`, which a heap can have unless `wrong` is set. Takes no
/// memory. O(text).
[[nodiscard]] class_file parse_class_file(std::string_view text) noexcept;

}  // namespace ashlar::detail
