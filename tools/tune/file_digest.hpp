// tools/tune/file_digest.hpp: which bytes a result was made from. Layer: tune.
#pragma once

#include <string>
#include <string_view>

namespace ashlar::tune {

/// Returns: the SHA-256 of a file as 64 hexadecimal digits. Throws: std::runtime_error that names the file.
[[nodiscard]] std::string sha256_of_file(const std::string& path);
[[nodiscard]] std::string sha256_of(std::string_view bytes);

}  // namespace ashlar::tune
