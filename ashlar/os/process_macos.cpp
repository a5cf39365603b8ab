// os/process_macos.cpp: what of os/process.hpp, own_code.hpp and access_fault.hpp is its own.
// Layer: os.
#include <cstdint>

#include <crt_externs.h>
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <pthread.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <ashlar/os/access_fault.hpp>
#include <ashlar/os/own_code.hpp>
#include <ashlar/os/process.hpp>

namespace ashlar::os {

// ---- what of os/process.hpp is macOS's own.

char** environment() noexcept { return *::_NSGetEnviron(); }
bool is_static_program() noexcept { return false; }
bool has_more_rights() noexcept { return ::issetugid() != 0; }
std::size_t new_thread_number() noexcept {
  std::uint64_t number = 0;
  ::pthread_threadid_np(nullptr, &number);
  return static_cast<std::size_t>(number);
}

// ---- os/own_code.hpp by the loader, which knows the image of each address.

namespace {

/// Returns: where the image begins that holds `address`; null if none does.
const void* image_of(const void* address) noexcept {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

}  // namespace

bool is_own_code(const void* address) noexcept {
  const void* const own = image_of(reinterpret_cast<const void*>(&is_own_code));
  constexpr std::uint32_t of_program = 0;
  return own != ::_dyld_get_image_header(of_program) && image_of(address) == own;
}

// ---- os/access_fault.hpp on macOS.

void read_machine_context(const void* context, access_fault& f) noexcept {
  const auto& machine = *static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  // The page fault's error code (Intel SDM 3A, 4.7): bit 1 is set for a write, bit 4 for fetching
  // an instruction.
  const unsigned code = machine.__es.__err;
  if ((code & 0x10u) == 0) f.kind = (code & 2u) != 0 ? access_kind::write : access_kind::read;
  f.instruction = reinterpret_cast<const void*>(machine.__ss.__rip);
#elif defined(__aarch64__)
  // ESR_EL1 (Arm ARM, D17.2.37): class 0x24 and 0x25 are data aborts, whose bit 6 is set for a
  // write.
  const unsigned exception_class = machine.__es.__esr >> 26;
  if (exception_class == 0x24 || exception_class == 0x25)
    f.kind = (machine.__es.__esr & 0x40) != 0 ? access_kind::write : access_kind::read;
  f.instruction = reinterpret_cast<const void*>(__darwin_arm_thread_state64_get_pc(machine.__ss));
#endif
}

}  // namespace ashlar::os
