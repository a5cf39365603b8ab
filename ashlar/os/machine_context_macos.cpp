// os/machine_context_macos.cpp: os/machine_context.hpp on macOS.
// Layer: os.
#include <sys/ucontext.h>

#include <ashlar/os/machine_context.hpp>

namespace ashlar::os {

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
