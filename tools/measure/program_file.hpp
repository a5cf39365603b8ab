// tools/measure/program_file.hpp: what kind of file a program or library is, and whether LD_PRELOAD
// can have an effect on it. Layer: measure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ashlar::measure {

struct elf_kind {
  bool wide = false;           // 64-bit
  std::uint16_t machine = 0;   // e_machine
  bool shared_object = false;  // ET_DYN
  bool has_interpreter = false;
  bool of_musl = false;  // musl's loader runs it
  bool is_go = false;
  bool has_malloc = false;  // it defines malloc for others to find
};

// Returns: nothing when the file cannot be read or is not ELF of this machine's byte order.
std::optional<elf_kind> read_elf_kind(const std::string& path);

// Finds the program as execvp(3) would. Returns: its path, with a slash.
// Throws: command_error 127 (not found) or 126 (found, not executable).
std::string find_program(const std::string& name);

enum class preload_effect {
  works,
  ignored_static,      // no dynamic loader runs
  ignored_go,          // the same of a Go program
  ignored_privileged,  // setuid, setgid or capabilities: the loader refuses
  ignored_foreign,     // the library is for another kind of machine code
  other_c_library,     // the loader ends the program, since it cannot load the library
  ignored_own_malloc,  // the program's malloc comes before any library's
};

// Looks at a program (of a script: at its interpreter) and at a library.
preload_effect effect_of_preload(const std::string& program, const std::string& library);

// A sentence about the program that says why; empty for `works`.
std::string describe(preload_effect effect);

}  // namespace ashlar::measure
