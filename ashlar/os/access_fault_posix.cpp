// os/access_fault_posix.cpp: os/access_fault.hpp by sigaction.
// Layer: os.
#include <cerrno>
#include <csignal>

#include <pthread.h>

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

/// Effects: what the signal would have done without us.
void pass_on(int number, siginfo_t* info, void* context) noexcept {
  const struct sigaction& old = number == before[0].number ? before[0].action : before[1].action;
  const bool was_sent = info->si_code <= 0;  // by a process, not by an instruction
  const bool takes_info = (old.sa_flags & SA_SIGINFO) != 0;
  if (!takes_info && old.sa_handler == SIG_IGN && was_sent) return;
  if (!takes_info && (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN)) {
    // An instruction does it again when this returns, now to its end; a signal that was sent has to
    // be sent again.
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
  if (info->si_code > 0) {
    access_fault fault{.address = info->si_addr};
    read_machine_context(context, fault);
    the_watcher(fault);
  }
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
    // A thread whose stack is at its end has another for its handlers, or its program would have no
    // use of them.
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
