// os/machine_context_freebsd.cpp: os/machine_context.hpp on FreeBSD.
// Layer: os.
#include <ucontext.h>

#include <ashlar/os/machine_context.hpp>

namespace ashlar::os {

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
