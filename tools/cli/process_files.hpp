// tools/cli/process_files.hpp: what the files are called that tell of a program and of those that it starts. Layer: cli.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ashlar::cli {

// Returns: the file's own name for the program's process; for another one NAME with .PID before the extension.
std::string path_for_process(const std::string& output, std::uint32_t pid,
                             std::uint32_t program_pid);

// Returns: the same, of another process with a number added where it has a file that require_replaceable() would refuse.
std::string free_path_for_process(const std::string& output, std::uint32_t pid,
                                  std::uint32_t program_pid, std::string_view magic);

// Effects: finds out whether a file of this kind can be written there. One that is there has to be empty or to begin with
// `magic`: another is not written over by mistake. Throws: input_error, which calls it no `kind`.
void require_replaceable(const std::string& output, std::string_view magic, std::string_view kind);

}  // namespace ashlar::cli
