// compat/xstring.h: std::string and std::wstring on xmalloc's blocks.
// Layer: compat.
#ifndef ASHLAR_COMPAT_XSTRING_H
#define ASHLAR_COMPAT_XSTRING_H

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "stl_allocator.h"

using xstring = std::basic_string<char, std::char_traits<char>, stl_allocator<char>>;
using xwstring = std::basic_string<wchar_t, std::char_traits<wchar_t>, stl_allocator<wchar_t>>;

namespace ashlar::compat {
/// As the std::string with the same characters. O(length).
template <class String, class View>
struct string_hash {
  [[nodiscard]] std::size_t operator()(const String& text) const noexcept {
    return std::hash<View>{}(View(text.data(), text.size()));
  }
};
}  // namespace ashlar::compat

// Not for every Char: newer standard libraries have a hash for every allocator, and these come
// before it.
template <>
struct std::hash<xstring> : ashlar::compat::string_hash<xstring, std::string_view> {};
template <>
struct std::hash<xwstring> : ashlar::compat::string_hash<xwstring, std::wstring_view> {};

#endif
