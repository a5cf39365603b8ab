// tools/image/process_status.hpp: what the system tells of a process, and why it refuses. Layer:
// image.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace ashlar::image {

/// Returns: the path of its file in /proc.
[[nodiscard]] std::string place(pid_t pid, const char* name);
[[nodiscard]] std::vector<pid_t> threads_of(pid_t pid);

/// Each throws: files::command_error, which says why and what helps.
[[noreturn]] void fail(const std::string& why);
[[noreturn]] void fail_gone(pid_t pid);
/// The system has refused `what`, with this error number.
[[noreturn]] void refuse(pid_t pid, int error, const char* what);
/// Effects: none where the process is there and has memory.
void require_process(pid_t pid);

}  // namespace ashlar::image
