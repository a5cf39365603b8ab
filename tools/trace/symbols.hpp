// tools/trace/symbols.hpp: what an ELF file says of itself, and how its names read. Layer: trace.
#pragma once

#include <cstdint>
#include <string>

namespace ashlar::trace {

/// Returns: the lowest address at which an ELF file wants to be loaded: 0 but for programs that are
/// not position-independent, and for what is no such file.
std::uint64_t lowest_address(const std::string& path);

/// Returns: the address, in the file's own numbers, of what lies at `offset` of an ELF file, or begins
/// in the same page; `offset` itself for what is no such file.
std::uint64_t address_at_offset(const std::string& path, std::uint64_t offset);

/// Returns: the bytes of the file's build id; empty where it has none, or is no such file.
std::string build_id_of(const std::string& path);

/// Returns: the name as its language writes it, of C++ and Rust, also of a C++ type ("3Foo"); any
/// other name as it is.
std::string demangled(const char* name);

}  // namespace ashlar::trace
