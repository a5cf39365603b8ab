// adapt/json_text.hpp: what the reports in JSON share.
// Layer: adapt.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string_view>

#include <ashlar/core/utf8.hpp>

namespace ashlar::detail {

/// Writes `text` as the inside of a JSON string, whatever bytes a name of a process or a file has.
/// A control character, or a byte that is no UTF-8, becomes \u and its number. Prometheus knows no
/// \u: there `escape` is two backslashes, so that a name stays a legal label.
inline void write_escaped(std::FILE* out, std::string_view text, const char* escape = "\\") {
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    const std::size_t bytes = character_bytes(text);
    if (c == '"' || c == '\\')
      std::fprintf(out, "\\%c", c);
    else if (bytes == 0 || c < 0x20 || c == 0x7f)
      std::fprintf(out, "%su%04x", escape, c);
    else
      std::fwrite(text.data(), 1, bytes, out);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
}

}  // namespace ashlar::detail
