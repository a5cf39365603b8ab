// os/loaded_module.hpp: the files that the loader has mapped into this process.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashlar::os {

/// A program or a shared library in this process.
struct loaded_module {
  const void* begin = nullptr;  ///< its first mapped address; null: there is no such module
  const char* path = nullptr;   ///< as the loader knows it; valid until the module is unloaded
  const char* note = nullptr;  ///< of first_module_with_note: the note's text, empty if it has none
};

/// Returns: the first module, in the order in which symbols are looked up, that has an ELF note of
/// this owner and type, whose description is a text or empty. Callable from constructors; allocates
/// nothing. O(modules).
[[nodiscard]] loaded_module first_module_with_note(const char* owner, std::uint32_t type) noexcept;

/// Returns: the module that `address` is in. As above.
[[nodiscard]] loaded_module module_around(const void* address) noexcept;

/// A part of a module that is mapped as code.
struct code_segment {
  std::uintptr_t begin = 0;  ///< whole pages of the system
  std::uintptr_t end = 0;
  std::uint64_t file_offset = 0;  ///< of `begin` in the file
  std::uintptr_t bias = 0;        ///< what the loader has added to the file's own addresses
  const char* path = nullptr;     ///< as the loader knows it; empty: the program
  const unsigned char* build_id = nullptr;  ///< null: the file has none
  std::size_t build_id_bytes = 0;
};

/// Returns: whether for_code_segment_at() takes no lock, so that it works in a child that was
/// forked while another thread had one of the loader's. A child of a system where it does may wait
/// for ever.
[[nodiscard]] bool finds_code_without_lock() noexcept;

/// Effects: calls visit(segment, context) for the part that `address` is in. The segment and its
/// path are valid inside the call, and as long as the file stays loaded. Allocates nothing.
/// Returns: whether there is one.
bool for_code_segment_at(const void* address,
                         void (*visit)(const code_segment& segment, void* context),
                         void* context) noexcept;

/// Returns: an address in the program's own code; null where the system does not tell.
[[nodiscard]] const void* code_of_program() noexcept;

/// Returns: the full path of the segment's file, which may be in `room` (that holds `bytes`).
[[nodiscard]] const char* full_path(const code_segment& segment, char* room,
                                    std::size_t bytes) noexcept;

/// Returns: the path of the module that `address` is in, as the loader knows it, or "the program".
/// Allocates nothing.
[[nodiscard]] const char* path_of(const void* address) noexcept;

/// Returns: whether `function`, an address that the loader gave for a function's name, is no
/// definition: a program that is not position independent and takes a function's address has a jump
/// to it, whose address then stands for the function everywhere. As above.
[[nodiscard]] bool is_only_referred_to(const void* function) noexcept;

/// Returns: whether a module of this path, or null, is a C++ library that comes with compilers, or
/// ours.
[[nodiscard]] bool is_cxx_library(const char* path) noexcept;

/// Returns: whether a module that is no C++ library has an operator delete of its own for others to
/// find. Its own calls may go there while the rest of the process has another: what it made with
/// new then looks like malloc's. O(symbols) until it is true.
[[nodiscard]] bool has_foreign_operators() noexcept;

/// Effects: loads the library at `path` if it is not there, for itself alone: its names serve
/// nobody else. Returns: its function `name`; null where that failed, and `why` says why.
/// Allocates.
[[nodiscard]] void* function_in_library(const char* path, const char* name,
                                        const char*& why) noexcept;

}  // namespace ashlar::os
