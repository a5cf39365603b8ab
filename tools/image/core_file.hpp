// tools/image/core_file.hpp: the memory that a core file has. Layer: image.
#pragma once

#include <string>

#include "tools/image/memory_image.hpp"

namespace ashlar::image {

/// Returns: what the core file at `path` has, of a process of this machine. `program` stands for
/// the program's file where that is not at its place any more; empty: it is. Of a file that was cut
/// off, what is there, with a remark. Throws: files::input_error, with a remedy, for what is no
/// such file.
[[nodiscard]] memory_image read_core_file(const std::string& path, const std::string& program);

}  // namespace ashlar::image
