// tools/shim/trace_writer.hpp: the command that writes the trace, where the process itself began
// the recording. Layer: shim.
#pragma once

#include <cstddef>

namespace ashlar::shim {

inline constexpr std::size_t spool_path_bytes = 32;

/// Returns: whether the file is the memory of a recorder, of any version.
[[nodiscard]] bool is_spool(const char* file);

/// Effects: starts a writer of this trace, and writes the path of its memory. The program does not
/// learn of this child: its end sends no signal. Returns: 0, or an error number.
int start_writer(const char* trace_file, char (&spool_path)[spool_path_bytes]);
/// Effects: closes the descriptor of that path. Requires: start_writer() wrote it.
void forget_spool(const char* spool_path);
/// Effects: waits until the trace is whole. Returns: 0, also where there is no writer; EIO: it is
/// not.
int stop_writer();

}  // namespace ashlar::shim
