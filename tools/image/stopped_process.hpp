// tools/image/stopped_process.hpp: the memory of a process that runs. Layer: image.
//
// The process stands still while its pages are copied, and no longer. It is stopped by PTRACE_SEIZE
// and PTRACE_INTERRUPT: nothing is sent to it, nothing in it is changed, and if this command is
// killed meanwhile, the system lets it go on.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "tools/image/memory_image.hpp"

namespace ashlar::image {

struct process_copy {
  memory_image image;
  double pause_ms = 0;  ///< how long the process stood still for this; 0: it stood still already
  std::uint64_t bytes = 0;  ///< that were copied
};

/// Returns: what the process has now. One that a debugger holds is read as it stands; its registers
/// are unknown then, but for the stack pointers. Throws: files::command_error, which says why the
/// system refuses and what helps.
[[nodiscard]] process_copy copy_process(pid_t pid);

}  // namespace ashlar::image
