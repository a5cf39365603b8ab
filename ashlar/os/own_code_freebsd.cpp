// os/own_code_freebsd.cpp: os/own_code.hpp by the loader's list of modules, which the program is
// the first of.
// Layer: os.
#include <cstddef>
#include <cstdint>

#include <link.h>

#include <ashlar/os/own_code.hpp>

namespace ashlar::os {
namespace {

/// What the loader is asked for: whether `address` and this file are in one module, and that is not
/// the program.
struct search {
  const void* address;
  bool is_first = true;
  bool found = false;
};

bool has(const dl_phdr_info& module, const void* address) noexcept {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - module.dlpi_addr;
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const auto& part = module.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && offset - part.p_vaddr < part.p_memsz) return true;
  }
  return false;
}

int look_at(dl_phdr_info* module, std::size_t, void* data) noexcept {
  auto& s = *static_cast<search*>(data);
  const bool is_program = s.is_first;
  s.is_first = false;
  if (!has(*module, reinterpret_cast<const void*>(&is_own_code))) return 0;
  s.found = !is_program && has(*module, s.address);
  return 1;
}

}  // namespace

bool is_own_code(const void* address) noexcept {
  search s{.address = address};
  ::dl_iterate_phdr(look_at, &s);
  return s.found;
}

}  // namespace ashlar::os
