// os/signals_posix.cpp: os/signals.hpp by sigaction.
// Layer: os.
#include <csignal>
#include <cstring>

#include <ashlar/os/signals.hpp>

namespace ashlar::os {
namespace {

struct named_signal {
  const char* name;
  int number;
};
constexpr named_signal known[] = {
    {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP},     {"QUIT", SIGQUIT},
    {"ALRM", SIGALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"URG", SIGURG},
};

#if defined(SIGRTMAX)
int last_signal() noexcept { return SIGRTMAX; }
#else
int last_signal() noexcept { return NSIG - 1; }
#endif

bool can_be_handled(int number) noexcept {
  return number > 0 && number <= last_signal() && number != SIGKILL && number != SIGSTOP;
}

}  // namespace

int signal_number(const char* name) noexcept {
  if (std::strncmp(name, "SIG", 3) == 0) name += 3;
  for (const named_signal& s : known)
    if (std::strcmp(name, s.name) == 0) return s.number;
  int number = 0;
  for (; *name >= '0' && *name <= '9' && number <= last_signal(); ++name)
    number = number * 10 + (*name - '0');
  return *name == '\0' && can_be_handled(number) ? number : 0;
}

bool handle_signal(int number, void (*act)(int)) noexcept {
  struct sigaction how{};
  how.sa_handler = act;
  how.sa_flags = SA_RESTART;
  return ::sigaction(number, &how, nullptr) == 0;
}

}  // namespace ashlar::os
