// os/process_freebsd.cpp: what of os/process.hpp, own_code.hpp and access_fault.hpp is its own.
// Layer: os.
#include <cstddef>
#include <cstdint>

#include <link.h>
#include <pthread.h>
#include <pthread_np.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include <ashlar/os/access_fault.hpp>
#include <ashlar/os/own_code.hpp>
#include <ashlar/os/process.hpp>

// A program's own, not the C library's: so a library refers to it weakly.
extern "C" [[gnu::weak]] char** environ;

namespace ashlar::os {

// ---- what of os/process.hpp is FreeBSD's own.

char** environment() noexcept { return &environ != nullptr ? environ : nullptr; }
bool is_static_program() noexcept {
  void* loader = nullptr;
  return ::elf_aux_info(AT_BASE, &loader, sizeof loader) == 0 && loader == nullptr;
}
bool has_more_rights() noexcept { return ::issetugid() != 0; }
std::size_t new_thread_number() noexcept {
  return static_cast<std::size_t>(::pthread_getthreadid_np());
}

// ---- os/own_code.hpp by the loader's list of modules, which the program is the first of.

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

// ---- os/access_fault.hpp on FreeBSD.

void read_machine_context(const void* of_handler, access_fault& f) noexcept {
  const mcontext_t& machine = static_cast<const ucontext_t*>(of_handler)->uc_mcontext;
#if defined(__x86_64__)
  // The page fault's error code (Intel SDM 3A, 4.7): bit 1 is set for a write, bit 4 for fetching
  // an instruction.
  const auto code = static_cast<unsigned>(machine.mc_err);
  if ((code & 0x10u) == 0) f.kind = (code & 2u) != 0 ? access_kind::write : access_kind::read;
  f.instruction = reinterpret_cast<const void*>(machine.mc_rip);
#elif defined(__aarch64__)
  // It does not say whether the access was a write.
  f.instruction = reinterpret_cast<const void*>(machine.mc_gpregs.gp_elr);
#endif
}

}  // namespace ashlar::os
