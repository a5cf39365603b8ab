// os/loaded_module.hpp: the files that the loader has mapped into this process.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

namespace ashlar::os {

/// A program or a shared library in this process.
struct loaded_module {
  const void* begin = nullptr;  ///< its first mapped address; null: there is no such module
  const char* path = nullptr;   ///< as the loader knows it; valid until the module is unloaded
};

/// Returns: the first module, in the order in which symbols are looked up, that has an ELF note of
/// this owner. Callable from constructors; allocates nothing. O(modules).
[[nodiscard]] loaded_module first_module_with_note(const char* owner) noexcept;

/// Returns: the module that `address` is in. As above.
[[nodiscard]] loaded_module module_around(const void* address) noexcept;

/// Returns: the path of the module that `address` is in, as the loader knows it, or "the program".
/// Allocates nothing.
[[nodiscard]] const char* path_of(const void* address) noexcept;

/// Returns: whether `function`, an address that the loader gave for a function's name, is no
/// definition: a program that is not position independent and takes a function's address has a jump
/// to it, whose address then stands for the function everywhere. As above.
[[nodiscard]] bool is_only_referred_to(const void* function) noexcept;

}  // namespace ashlar::os
