// os/machine_context_linux.cpp: read_machine_context of os/access_fault.hpp on Linux.
// Layer: os.
#include <csignal>
#include <cstddef>
#include <cstring>

#include <ucontext.h>

#include <ashlar/os/access_fault.hpp>

namespace ashlar::os {

void read_machine_context(const void* of_handler, access_fault& f) noexcept {
  const ucontext_t& context = *static_cast<const ucontext_t*>(of_handler);
#if defined(__x86_64__) || defined(__i386__)
  // The page fault's error code (Intel SDM 3A, 4.7): bit 1 is set for a write, bit 4 for fetching
  // an instruction.
  const auto code = static_cast<unsigned>(context.uc_mcontext.gregs[REG_ERR]);
  if ((code & 0x10u) == 0) f.kind = (code & 2u) != 0 ? access_kind::write : access_kind::read;
#if defined(__x86_64__)
  constexpr int instruction_pointer = REG_RIP;
#else
  constexpr int instruction_pointer = REG_EIP;
#endif
  f.instruction = reinterpret_cast<const void*>(context.uc_mcontext.gregs[instruction_pointer]);
#elif defined(__aarch64__)
  f.instruction = reinterpret_cast<const void*>(context.uc_mcontext.pc);
  // A list of records, each with its length, up to one of magic 0. ESR_EL1 (Arm ARM, D17.2.37):
  // class 0x24 and 0x25 are data aborts, whose bit 6 is set for a write.
  const unsigned char* record = context.uc_mcontext.__reserved;
  const unsigned char* const end = record + sizeof context.uc_mcontext.__reserved;
  while (record + sizeof(_aarch64_ctx) <= end) {
    _aarch64_ctx head;
    std::memcpy(&head, record, sizeof head);
    if (head.magic == 0 || head.size == 0) break;
    if (head.magic == ESR_MAGIC) {
      esr_context syndrome;
      std::memcpy(&syndrome, record, sizeof syndrome);
      const auto exception_class = (syndrome.esr >> 26) & 0x3f;
      if (exception_class == 0x24 || exception_class == 0x25)
        f.kind = (syndrome.esr & 0x40) != 0 ? access_kind::write : access_kind::read;
      break;
    }
    record += head.size;
  }
#else
  static_cast<void>(context);
  static_cast<void>(f);
#endif
}

}  // namespace ashlar::os
