// os/last_words.hpp: text that leaves the process though it may be about to end.
// Layer: os. Nothing here uses memory of the heap, which may be what is broken.
#pragma once

#include <cstddef>

#include <ashlar/os/call_filter.hpp>

namespace ashlar::os {

/// Effects: writes the text to standard error. A reader that does not read is waited for at most
/// 0.2 s; what has no room by then is dropped. No signal and no cancellation comes of it. Keeps
/// errno. Returns: whether all was written.
/// In a sandbox a signal may come.
bool write_to_stderr(const char* text, std::size_t size) noexcept;

/// As above, of a process that goes on: silent in a sandbox, where the signal of a file that may
/// not grow would end it.
inline void write_remark(const char* text, std::size_t size) noexcept {
  if (!has_new_call_filter()) write_to_stderr(text, size);
}

/// Effects: appends the text to the file at `path` by one write; creates it if need be. Waits for
/// no reader of a pipe. Keeps errno. Returns: 0, or the error's number.
[[nodiscard]] int append_to_file(const char* path, const char* text, std::size_t size) noexcept;

}  // namespace ashlar::os
