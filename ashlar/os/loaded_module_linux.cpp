// os/loaded_module_linux.cpp: os/loaded_module.hpp by dl_iterate_phdr.
// Layer: os.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <ashlar/core/bits.hpp>
#include <ashlar/os/loaded_module.hpp>

namespace ashlar::os {
namespace {

const std::byte* mapped(const dl_phdr_info& module, ElfW(Addr) offset) noexcept {
  return reinterpret_cast<const std::byte*>(module.dlpi_addr + offset);
}

/// A note is a header, the owner's name and a description; the last two begin at multiples of the
/// segment's alignment.
bool has_note(const dl_phdr_info& module, const ElfW(Phdr) & segment, const char* owner) noexcept {
  const std::size_t alignment = segment.p_align == 8 ? 8 : 4;
  const std::size_t owner_size = std::strlen(owner) + 1;
  const std::byte* at = mapped(module, segment.p_vaddr);
  std::size_t left = segment.p_memsz;
  ElfW(Nhdr) header;
  while (left >= sizeof header) {
    std::memcpy(&header, at, sizeof header);
    const std::size_t text = align_up(sizeof header + header.n_namesz, alignment);
    const std::size_t end = align_up(text + header.n_descsz, alignment);
    if (text > left) return false;
    if (header.n_namesz == owner_size && std::memcmp(at + sizeof header, owner, owner_size) == 0)
      return true;
    if (end > left) return false;
    at += end;
    left -= end;
  }
  return false;
}

loaded_module as_module(const dl_phdr_info& module) noexcept {
  loaded_module m;
  for (int i = 0; i < module.dlpi_phnum && m.begin == nullptr; ++i)
    if (module.dlpi_phdr[i].p_type == PT_LOAD)
      m.begin = mapped(module, module.dlpi_phdr[i].p_vaddr);
  m.path = module.dlpi_name;
  if (m.path == nullptr || *m.path == '\0') {  // the program itself has no name there
    m.path = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    if (m.path == nullptr) m.path = "the program";
  }
  return m;
}

/// Returns: the C library's, where a sanitizer in the program has put its own before it, which may
/// not be called until the sanitizer has started.
auto* next_iterate() noexcept {
  void* const next = ::dlsym(RTLD_NEXT, "dl_iterate_phdr");
  return next != nullptr ? reinterpret_cast<decltype(&::dl_iterate_phdr)>(next)
                         : &::dl_iterate_phdr;
}

/// Calls matches(module, segment) for each segment of each module. Returns: the first module for
/// which that is true.
template <class Matches>
loaded_module find(Matches matches) noexcept {
  struct search {
    Matches matches;
    loaded_module found;
  } state{matches, {}};
  next_iterate()(
      [](dl_phdr_info* module, std::size_t, void* data) {
        auto& s = *static_cast<search*>(data);
        for (int i = 0; i < module->dlpi_phnum; ++i) {
          if (!s.matches(*module, module->dlpi_phdr[i])) continue;
          s.found = as_module(*module);
          return 1;
        }
        return 0;
      },
      &state);
  return state.found;
}

}  // namespace

loaded_module first_module_with_note(const char* owner) noexcept {
  return find([owner](const dl_phdr_info& module, const ElfW(Phdr) & segment) {
    return segment.p_type == PT_NOTE && has_note(module, segment, owner);
  });
}

loaded_module module_around(const void* address) noexcept {
  return find([address](const dl_phdr_info& module, const ElfW(Phdr) & segment) {
    if (segment.p_type != PT_LOAD) return false;
    const auto offset = reinterpret_cast<std::uintptr_t>(address) -
                        reinterpret_cast<std::uintptr_t>(mapped(module, segment.p_vaddr));
    return offset < segment.p_memsz;
  });
}

const char* path_of(const void* address) noexcept {
  ::Dl_info info;
  return ::dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname
                                                                    : "the program";
}

bool is_only_referred_to(const void* function) noexcept {
  ::Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  return ::dladdr1(const_cast<void*>(function), &info,
                   reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)),
                   RTLD_DL_SYMENT) != 0 &&
         symbol != nullptr && symbol->st_shndx == SHN_UNDEF;
}

}  // namespace ashlar::os
