// os/last_words.hpp: text that leaves the process though it may be about to end.
// Layer: os. Nothing here uses memory of the heap, which may be what is broken.
#pragma once

#include <cstddef>

namespace ashlar::os {

/// Effects: writes the text to standard error. A reader that does not read is waited for at most
/// 0.2 s; what has no room by then is dropped. No signal and no cancellation comes of it. Keeps
/// errno. Returns: whether all was written.
bool write_to_stderr(const char* text, std::size_t size) noexcept;

/// Effects: appends the text to the file at `path` by one write; creates it if need be. Waits for
/// no reader of a pipe. Keeps errno. Returns: 0, or the error's number.
[[nodiscard]] int append_to_file(const char* path, const char* text, std::size_t size) noexcept;

}  // namespace ashlar::os
