// adapt/json_text.hpp: what the reports in JSON share.
// Layer: adapt.
#pragma once

#include <cstdio>

namespace ashlar::detail {

/// Writes `text` as the inside of a JSON string, whatever bytes a name of a process or a file has.
/// Prometheus knows no \u: there `escape` is two backslashes, so that a name stays a legal label.
inline void write_escaped(std::FILE* out, const char* text, const char* escape = "\\") {
  for (; *text != '\0'; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\')
      std::fprintf(out, "\\%c", c);
    else if (c < 0x20 || c >= 0x7f)
      std::fprintf(out, "%su%04x", escape, c);
    else
      std::fputc(c, out);
  }
}

}  // namespace ashlar::detail
