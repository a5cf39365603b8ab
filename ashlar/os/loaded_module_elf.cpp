// os/loaded_module_elf.cpp: os/loaded_module.hpp by dl_iterate_phdr, and where there is
// _dl_find_object, of one address without the loader's lock.
// Layer: os.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <link.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#include <unistd.h>

#include <ashlar/core/bits.hpp>
#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/elf_notes.hpp>
#include <ashlar/os/find_object.hpp>
#include <ashlar/os/loaded_module.hpp>
#include <ashlar/os/page_calls.hpp>

namespace ashlar::os {
namespace {

// A static program has no loader, and its linker warns where dlopen is named. Before glibc 2.34
// dlsym is in a library of its own, which not every program has.
[[gnu::weakref("dlsym")]] void* known_dlsym(void* library, const char* name);

/// Returns: the same address, of which the compiler knows nothing.
template <class Function>
Function* opaque(Function* function) noexcept {
  __asm__("" : "+r"(function));
  return function;
}

// What systems with this loader call differently.
#if defined(__linux__)
using hash_word = Elf_Symndx;
#else
using hash_word = Elf_Hashelt;
#endif

const std::byte* mapped(const dl_phdr_info& module, ElfW(Addr) offset) noexcept {
  return reinterpret_cast<const std::byte*>(module.dlpi_addr + offset);
}

/// Returns: whether the segment lies in one that is mapped for reading.
bool is_mapped(const dl_phdr_info& module, const ElfW(Phdr) & part) noexcept {
  return std::any_of(module.dlpi_phdr, module.dlpi_phdr + module.dlpi_phnum,
                     [&](const ElfW(Phdr) & loaded) {
                       return loaded.p_type == PT_LOAD && (loaded.p_flags & PF_R) != 0 &&
                              loaded.p_vaddr <= part.p_vaddr &&
                              part.p_vaddr + part.p_filesz <= loaded.p_vaddr + loaded.p_filesz;
                     });
}

elf_note build_id_of(const dl_phdr_info& module) noexcept {
  for (const ElfW(Phdr)* s = module.dlpi_phdr; s != module.dlpi_phdr + module.dlpi_phnum; ++s) {
    if (s->p_type != PT_NOTE || !is_mapped(module, *s)) continue;
    const elf_note id = find_build_id(mapped(module, s->p_vaddr), s->p_memsz, *s);
    if (id.description != nullptr) return id;
  }
  return {};
}

/// The symbols by which a module and others find each other.
struct dynamic_symbols {
  const ElfW(Sym) * table = nullptr;
  std::size_t count = 0;
  const char* names = nullptr;
};

/// Returns: how many symbols the module has, from its table for looking them up: four words, a
/// filter of pointers, the first symbol of each bucket, and a word for each symbol from `first` on,
/// whose lowest bit ends a bucket.
std::size_t count_hashed(const std::uint32_t* words) noexcept {
  const std::uint32_t buckets = words[0], first = words[1], filter = words[2];
  const std::uint32_t* const bucket = words + 4 + filter * (sizeof(ElfW(Addr)) / sizeof *words);
  const std::uint32_t* const chain = bucket + buckets;
  std::uint32_t last = *std::max_element(bucket, chain);
  if (last < first) return first;
  while ((chain[last - first] & 1) == 0) ++last;
  return std::size_t{last} + 1;
}

dynamic_symbols symbols_of(const dl_phdr_info& module, const ElfW(Phdr) & dynamic) noexcept {
  dynamic_symbols symbols;
  for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(mapped(module, dynamic.p_vaddr));
       entry->d_tag != DT_NULL; ++entry) {
    // Some loaders put addresses in the place of offsets, others do not.
    const ElfW(Addr) at = entry->d_un.d_ptr;
    const std::byte* const place =
        mapped(module, at < module.dlpi_addr ? at : at - module.dlpi_addr);
    if (entry->d_tag == DT_SYMTAB) symbols.table = reinterpret_cast<const ElfW(Sym)*>(place);
    if (entry->d_tag == DT_STRTAB) symbols.names = reinterpret_cast<const char*>(place);
    if (entry->d_tag == DT_GNU_HASH)
      symbols.count = count_hashed(reinterpret_cast<const std::uint32_t*>(place));
    if (entry->d_tag == DT_HASH) symbols.count = reinterpret_cast<const hash_word*>(place)[1];
  }
  return symbols;
}

/// Returns: whether the module does not define the function that has `address`, but has a jump to
/// it there.
bool refers_to(const dl_phdr_info& module, const ElfW(Phdr) & dynamic,
               ElfW(Addr) address) noexcept {
  const dynamic_symbols symbols = symbols_of(module, dynamic);
  return symbols.table != nullptr &&
         std::any_of(symbols.table, symbols.table + symbols.count, [&](const ElfW(Sym) & s) {
           return s.st_shndx == SHN_UNDEF && s.st_value != 0 &&
                  module.dlpi_addr + s.st_value == address;
         });
}

/// Returns: whether the module defines `name` for others.
bool defines(const dl_phdr_info& module, const ElfW(Phdr) & dynamic, const char* name) noexcept {
  const dynamic_symbols symbols = symbols_of(module, dynamic);
  return symbols.table != nullptr && symbols.names != nullptr &&
         std::any_of(symbols.table, symbols.table + symbols.count, [&](const ElfW(Sym) & s) {
           return s.st_shndx != SHN_UNDEF && std::strcmp(symbols.names + s.st_name, name) == 0;
         });
}

/// Returns: the program's path as it was called, where the system tells.
const char* path_of_program() noexcept {
  const char* path = nullptr;
#if defined(__linux__)
  path = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
#endif
  return path != nullptr ? path : "the program";
}

loaded_module as_module(const dl_phdr_info& module) noexcept {
  loaded_module m;
  for (int i = 0; i < module.dlpi_phnum && m.begin == nullptr; ++i)
    if (module.dlpi_phdr[i].p_type == PT_LOAD)
      m.begin = mapped(module, module.dlpi_phdr[i].p_vaddr);
  m.path = module.dlpi_name;
  // The program itself has no name there.
  if (m.path == nullptr || *m.path == '\0') m.path = path_of_program();
  return m;
}

/// Returns: the C library's, where a sanitizer in the program has put its own before it, which may
/// not be called until the sanitizer has started.
auto* next_iterate() noexcept {
  void* const next = ::dlsym(RTLD_NEXT, "dl_iterate_phdr");
  return next != nullptr ? reinterpret_cast<decltype(&::dl_iterate_phdr)>(next)
                         : &::dl_iterate_phdr;
}

using module_visit = int(dl_phdr_info*, std::size_t, void*);

/// Effects: calls visit(module, its bytes, data) for the module that `address` is in; where that
/// needs the loader's lock, for each, until one returns 1.
#if ASHLAR_HAS_FIND_OBJECT
void for_modules_at(const void* address, module_visit* visit, void* data) noexcept {
  dl_find_object found{};
  if (::_dl_find_object(const_cast<void*>(address), &found) != 0) return;
  dl_phdr_info module{};
  module.dlpi_addr = found.dlfo_link_map->l_addr;
  module.dlpi_name = found.dlfo_link_map->l_name;
  if (module.dlpi_name == nullptr || *module.dlpi_name == '\0') {
    // Of a program with gaps between its segments, one segment was found, perhaps without the
    // headers.
    module.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(::getauxval(AT_PHDR));
    module.dlpi_phnum = static_cast<ElfW(Half)>(::getauxval(AT_PHNUM));
  } else {
    const auto* const begin = static_cast<const std::byte*>(found.dlfo_map_start);
    ElfW(Ehdr) header;
    std::memcpy(&header, begin, sizeof header);
    constexpr std::size_t first_page = 4096;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phoff + header.e_phnum * sizeof(ElfW(Phdr)) > first_page)
      return;
    module.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(begin + header.e_phoff);
    module.dlpi_phnum = header.e_phnum;
  }
  visit(&module, sizeof module, data);
}
#else
void for_modules_at(const void*, module_visit* visit, void* data) noexcept {
  next_iterate()(visit, data);
}
#endif

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

bool finds_code_without_lock() noexcept {
#if ASHLAR_HAS_FIND_OBJECT
  return true;
#else
  return false;
#endif
}

loaded_module first_module_with_note(const char* owner, std::uint32_t type) noexcept {
  elf_note note;
  loaded_module found = find([&](const dl_phdr_info& module, const ElfW(Phdr) & segment) {
    if (segment.p_type != PT_NOTE) return false;
    note = find_note(mapped(module, segment.p_vaddr), segment.p_memsz, segment, owner,
                     [type](auto its) { return its == type; });
    return note.description != nullptr;
  });
  found.note = note.bytes != 0 ? reinterpret_cast<const char*>(note.description) : "";
  return found;
}

loaded_module module_around(const void* address) noexcept {
  return find([address](const dl_phdr_info& module, const ElfW(Phdr) & segment) {
    if (segment.p_type != PT_LOAD) return false;
    const auto offset = reinterpret_cast<std::uintptr_t>(address) -
                        reinterpret_cast<std::uintptr_t>(mapped(module, segment.p_vaddr));
    return offset < segment.p_memsz;
  });
}

bool for_code_segment_at(const void* address, void (*visit)(const code_segment&, void*),
                         void* context) noexcept {
  struct look {
    std::uintptr_t address;
    void (*visit)(const code_segment&, void*);
    void* context;
    bool is_found = false;
  } state{reinterpret_cast<std::uintptr_t>(address), visit, context};
  for_modules_at(
      address,
      [](dl_phdr_info* module, std::size_t, void* data) {
        auto& l = *static_cast<look*>(data);
        const auto page = page_calls::page_bytes();
        for (int i = 0; i < module->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = module->dlpi_phdr[i];
          const std::uintptr_t begin = module->dlpi_addr + part.p_vaddr;
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 ||
              l.address - begin >= part.p_memsz)
            continue;
          const elf_note id = build_id_of(*module);
          code_segment segment{.begin = align_down(begin, page),
                               .end = align_up(begin + part.p_memsz, page),
                               .bias = module->dlpi_addr,
                               .path = module->dlpi_name != nullptr ? module->dlpi_name : "",
                               .build_id = reinterpret_cast<const unsigned char*>(id.description),
                               .build_id_bytes = id.bytes};
          segment.file_offset = part.p_offset - (begin - segment.begin);
          l.visit(segment, l.context);
          l.is_found = true;
          return 1;
        }
        return 0;
      },
      &state);
  return state.is_found;
}

const void* code_of_program() noexcept {
#if defined(__linux__)
  return reinterpret_cast<const void*>(::getauxval(AT_ENTRY));
#else
  const void* code = nullptr;
  next_iterate()(
      [](dl_phdr_info* program, std::size_t, void* data) {  // the first module is the program
        for (int i = 0; i < program->dlpi_phnum; ++i)
          if ((program->dlpi_phdr[i].p_flags & PF_X) != 0)
            *static_cast<const void**>(data) = mapped(*program, program->dlpi_phdr[i].p_vaddr);
        return 1;
      },
      &code);
  return code;
#endif
}

const char* full_path(const code_segment& segment, char* room, std::size_t bytes) noexcept {
  if (*segment.path != '\0') return segment.path;
  const auto read = has_new_call_filter() ? 0 : ::readlink("/proc/self/exe", room, bytes - 1);
  if (read <= 0) return path_of_program();
  room[read] = '\0';
  return room;
}

const char* path_of(const void* address) noexcept {
  ::Dl_info info;
  return ::dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname
                                                                    : "the program";
}

bool is_only_referred_to(const void* function) noexcept {
  const auto address = reinterpret_cast<ElfW(Addr)>(function);
  return find([address](const dl_phdr_info& module, const ElfW(Phdr) & segment) {
           return segment.p_type == PT_DYNAMIC && refers_to(module, segment, address);
         }).begin != nullptr;
}

bool is_cxx_library(const char* path) noexcept {
  for (const char* name :
       {"libstdc++.so", "libc++.so", "libc++abi.so", "libcxxrt.so", "/libashlar"})
    if (path != nullptr && std::strstr(path, name) != nullptr) return true;
  return false;
}

bool has_foreign_operators() noexcept {
  static constinit std::atomic<bool> known{false};
  if (known.load(std::memory_order_relaxed)) return true;
  const void* const own =
      module_around(reinterpret_cast<const void*>(&has_foreign_operators)).begin;
  const loaded_module other = find([own](const dl_phdr_info& module, const ElfW(Phdr) & segment) {
    return segment.p_type == PT_DYNAMIC && as_module(module).begin != own &&
           !is_cxx_library(module.dlpi_name) && defines(module, segment, "_ZdlPv");
  });
  if (other.begin != nullptr) known.store(true, std::memory_order_relaxed);
  return other.begin != nullptr;
}

void* function_in_library(const char* path, const char* name, const char*& why) noexcept {
  auto* const find = opaque(known_dlsym);  // gcc takes it for a fact that it is there
  auto* const open =
      find != nullptr ? reinterpret_cast<void* (*)(const char*, int)>(find(RTLD_DEFAULT, "dlopen"))
                      : nullptr;
  auto* const error =
      find != nullptr ? reinterpret_cast<char* (*)()>(find(RTLD_DEFAULT, "dlerror")) : nullptr;
  if (open == nullptr || error == nullptr) {
    why = "the program is linked statically, so it can load no library";
    return nullptr;
  }
  void* const library = open(path, RTLD_NOW | RTLD_LOCAL);
  void* const found = library != nullptr ? find(library, name) : nullptr;
  if (found == nullptr) {
    why = error();
    if (why == nullptr) why = "it has no such function";
  }
  return found;
}

}  // namespace ashlar::os
