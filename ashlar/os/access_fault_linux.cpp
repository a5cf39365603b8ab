// os/access_fault_linux.cpp: os/access_fault.hpp by sigaction and the machine's context.
// Layer: os.
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include <pthread.h>
#include <ucontext.h>

#include <ashlar/os/access_fault.hpp>

namespace ashlar::os {
namespace {

// Both are written before the handler is there to read them, and never again.
constinit access_watcher the_watcher = nullptr;
struct earlier {
  int number;
  struct sigaction action;
};
constinit earlier before[] = {{SIGSEGV, {}}, {SIGBUS, {}}};

access_fault fault_of(const siginfo_t& info, const ucontext_t& context) noexcept {
  access_fault f{.address = info.si_addr};
#if defined(__x86_64__) || defined(__i386__)
  // The page fault's error code (Intel SDM 3A, 4.7): bit 1 is set for a write, bit 4 for fetching an instruction.
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
  // A list of records, each with its length, up to one of magic 0. ESR_EL1 (Arm ARM, D17.2.37): class 0x24 and 0x25
  // are data aborts, whose bit 6 is set for a write.
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
#endif
  return f;
}

/// Effects: what the signal would have done without us.
void pass_on(int number, siginfo_t* info, void* context) noexcept {
  const struct sigaction& old = number == before[0].number ? before[0].action : before[1].action;
  const bool was_sent = info->si_code <= 0;  // by a process, not by an instruction
  const bool takes_info = (old.sa_flags & SA_SIGINFO) != 0;
  if (!takes_info && old.sa_handler == SIG_IGN && was_sent) return;
  if (!takes_info && (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN)) {
    // An instruction does it again when this returns, now to its end; a signal that was sent has to be sent again.
    struct sigaction by_default = {};
    by_default.sa_handler = SIG_DFL;
    ::sigaction(number, &by_default, nullptr);
    if (was_sent) ::raise(number);
    return;
  }
  sigset_t ours;
  ::pthread_sigmask(SIG_BLOCK, &old.sa_mask, &ours);
  if (takes_info)
    old.sa_sigaction(number, info, context);
  else
    old.sa_handler(number);
  ::pthread_sigmask(SIG_SETMASK, &ours, nullptr);
}

void on_signal(int number, siginfo_t* info, void* context) noexcept {
  const int saved = errno;
  if (info->si_code > 0) the_watcher(fault_of(*info, *static_cast<const ucontext_t*>(context)));
  errno = saved;
  pass_on(number, info, context);
}

}  // namespace

bool watch_access_faults(access_watcher watcher) noexcept {
  const int saved = errno;
  the_watcher = watcher;
  bool done = true;
  for (earlier& e : before) {
    struct sigaction ours = {};
    ours.sa_sigaction = on_signal;
    // A thread whose stack is at its end has another for its handlers, or its program would have no use of them.
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    // Known before it can be needed.
    done = ::sigaction(e.number, nullptr, &e.action) == 0 &&
           ::sigaction(e.number, &ours, nullptr) == 0 && done;
  }
  errno = saved;
  return done;
}

}  // namespace ashlar::os
