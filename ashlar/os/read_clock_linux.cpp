// os/read_clock_linux.cpp: os/read_clock.hpp by the file that the system maps into each process
// (vdso(7)).
// Layer: os.
#include <ashlar/os/read_clock.hpp>

#if ASHLAR_READS_MAPPED_CLOCK

#include <atomic>
#include <cstdint>
#include <cstring>

#include <link.h>
#include <sys/auxv.h>

#include <ashlar/os/system_call.hpp>

namespace ashlar::os {
namespace {

using clock_function = int(clockid_t, timespec*);

int ask_system(clockid_t clock, timespec* now) noexcept {
  return static_cast<int>(system_call(SYS_clock_gettime, clock, now));
}

bool is_its_name(const char* name) noexcept {
  return std::strcmp(name, "__vdso_clock_gettime") == 0 ||
         std::strcmp(name, "__kernel_clock_gettime") == 0;
}

/// Returns: the mapped function, or a system call where there is none. Its symbols end where their
/// names begin.
clock_function* find_function() noexcept {
  const std::uintptr_t begin = ::getauxval(AT_SYSINFO_EHDR);
  if (begin == 0) return ask_system;
  const auto& file = *reinterpret_cast<const ElfW(Ehdr)*>(begin);
  const auto* const segments = reinterpret_cast<const ElfW(Phdr)*>(begin + file.e_phoff);
  std::uintptr_t bias = 0;
  const ElfW(Dyn)* entry = nullptr;
  for (const ElfW(Phdr)* s = segments; s != segments + file.e_phnum; ++s) {
    if (s->p_type == PT_LOAD) bias = begin + s->p_offset - s->p_vaddr;
    if (s->p_type == PT_DYNAMIC) entry = reinterpret_cast<const ElfW(Dyn)*>(begin + s->p_offset);
  }
  std::uintptr_t symbols = 0, names = 0;
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) symbols = bias + entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) names = bias + entry->d_un.d_ptr;
  }
  if (symbols == 0) return ask_system;
  for (; symbols + sizeof(ElfW(Sym)) <= names; symbols += sizeof(ElfW(Sym))) {
    const auto& symbol = *reinterpret_cast<const ElfW(Sym)*>(symbols);
    if (symbol.st_shndx != SHN_UNDEF &&
        is_its_name(reinterpret_cast<const char*>(names) + symbol.st_name))
      return reinterpret_cast<clock_function*>(bias + symbol.st_value);
  }
  return ask_system;
}

constinit std::atomic<clock_function*> the_function{nullptr};

}  // namespace

void read_clock(clockid_t clock, timespec& now) noexcept {
  clock_function* function = the_function.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = find_function();
    the_function.store(function, std::memory_order_relaxed);
  }
  if (function(clock, &now) != 0) ask_system(clock, &now);  // a clock that only the system knows
}

}  // namespace ashlar::os

#endif
