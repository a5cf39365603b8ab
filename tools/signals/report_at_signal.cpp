// tools/signals/report_at_signal.cpp: statistics of a program that SIGINT or SIGTERM ends.
// Layer: signals.
//
// The default action of these signals runs no code of the process, so a handler has its place. A
// program that asks for the action or sets it meets the default action as before: a program such as
// python decides by that whether it handles the signal itself.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <ashlar/core/stats.h>
#include <ashlar/os/next_function.hpp>

#define ASHLAR_EXPORT [[gnu::visibility("default")]]

// Of the drop-in library; null where that is not loaded.
extern "C" [[gnu::weak]] void ashlar_stats_of_malloc(ashlar_stats* stats);

namespace {

using set_action = int (*)(int, const struct sigaction*, struct sigaction*);
using set_handler = sighandler_t (*)(int, sighandler_t);

constinit set_action next_sigaction = nullptr;
constinit set_handler next_signal = nullptr;
constinit bool is_on = false;
/// "FOLDER/": the file of process 4711 is FOLDER/4711.stats.
constinit char folder[4000] = "";
constinit ashlar_stats figures{};

bool is_watched(int number) { return is_on && (number == SIGINT || number == SIGTERM); }

void write_statistics() {
  char path[sizeof folder + 40];
  std::snprintf(path, sizeof path, "%s%ld.stats", folder, static_cast<long>(::getpid()));
  ashlar_stats_of_malloc(&figures);
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  [[maybe_unused]] const auto written = ::write(file, &figures, sizeof figures);
  ::close(file);
}

/// Effects: the signal comes again in two seconds. That ends a process whose handler waits for a lock
/// that the interrupted thread has.
void end_soon(int number) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = number;
  int timer = 0;  // as the system numbers them
  if (::syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) return;
  const itimerspec when{{0, 0}, {2, 0}};
  ::syscall(SYS_timer_settime, timer, 0, &when, nullptr);
}

void report_and_end(int number);

void set_own_handler(int number, const sigset_t& mask) {
  struct sigaction action{};
  action.sa_handler = report_and_end;
  action.sa_mask = mask;
  action.sa_flags = SA_RESTART;
  next_sigaction(number, &action, nullptr);
}

void end_by(int number) {
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  next_sigaction(number, &plain, nullptr);
  ::kill(::getpid(), number);
}

/// The signal again, while the statistics are written. Once it may be what the command passes on of a
/// signal that the whole group had: that ends nothing. The next one does, and that of the timer.
void on_another(int number, siginfo_t* info, void*) {
  static volatile std::sig_atomic_t came = 0;
  const bool is_first = came == 0 && info->si_code != SI_TIMER;
  came = 1;
  if (!is_first) end_by(number);
}

void report_and_end(int number) {
  struct sigaction another{};
  another.sa_sigaction = on_another;
  another.sa_flags = SA_SIGINFO | SA_RESTART;
  struct sigaction own{};
  next_sigaction(number, &another, &own);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, number);
  end_soon(number);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  write_statistics();
  end_by(number);
  // The first process of a container outlives the default action.
  set_own_handler(number, own.sa_mask);
}

[[gnu::constructor]] void begin() {
  next_sigaction = reinterpret_cast<set_action>(ashlar::os::next_function("sigaction"));
  next_signal = reinterpret_cast<set_handler>(ashlar::os::next_function("signal"));
  const char* const into = std::getenv("ASHLAR_AT_SIGNAL");
  if (next_sigaction == nullptr || next_signal == nullptr || into == nullptr ||
      ashlar_stats_of_malloc == nullptr || std::strlen(into) >= sizeof folder)
    return;
  std::strcpy(folder, into);
  is_on = true;
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction now{};
    next_sigaction(number, nullptr, &now);
    if (now.sa_handler == SIG_DFL) set_own_handler(number, now.sa_mask);
  }
}

}  // namespace

extern "C" {

ASHLAR_EXPORT int sigaction(int number, const struct sigaction* action,
                            struct sigaction* before) noexcept {
  if (next_sigaction == nullptr)
    next_sigaction = reinterpret_cast<set_action>(ashlar::os::next_function("sigaction"));
  if (!is_watched(number)) return next_sigaction(number, action, before);
  struct sigaction own{};
  if (action != nullptr && action->sa_handler == SIG_DFL) {
    own = *action;
    own.sa_handler = report_and_end;
    own.sa_flags = SA_RESTART;
    action = &own;
  }
  const int result = next_sigaction(number, action, before);
  if (result == 0 && before != nullptr && before->sa_handler == report_and_end) {
    before->sa_handler = SIG_DFL;
    before->sa_flags = 0;
  }
  return result;
}

ASHLAR_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  if (next_signal == nullptr)
    next_signal = reinterpret_cast<set_handler>(ashlar::os::next_function("signal"));
  const bool is_default = is_watched(number) && handler == SIG_DFL;
  const sighandler_t before = next_signal(number, is_default ? report_and_end : handler);
  return before == report_and_end ? SIG_DFL : before;
}

}  // extern "C"
