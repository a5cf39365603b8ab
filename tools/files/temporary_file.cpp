// tools/files/temporary_file.cpp. Layer: files.
#include "tools/files/temporary_file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ashlar::files {

namespace {

// What a signal's handler removes; null: free. No command has more than a few.
constexpr std::size_t names_max = 8;
std::array<std::atomic<const char*>, names_max> names;
std::atomic<pid_t> owner;  // a child, before it executes a program, removes nothing of its parent's

extern "C" void remove_names_and_end(int signal_number) {
  if (::getpid() == owner) {
    for (const auto& name : names) {
      if (const char* const path = name.load()) ::unlink(path);
    }
  }
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);  // it waits until this handler returns
}

// What is ignored stays so (nohup).
void handle_signals() {
  if (owner.exchange(::getpid()) == ::getpid()) return;
  struct sigaction action{};
  action.sa_handler = remove_names_and_end;
  sigfillset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    struct sigaction now{};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
      ::sigaction(number, &action, nullptr);
  }
}

void keep_name(const char* name) {
  for (auto& each : names) {
    const char* free = nullptr;
    if (each.compare_exchange_strong(free, name)) return;
  }
}

void forget_name(const char* name) {
  for (auto& each : names) {
    const char* kept = name;
    each.compare_exchange_strong(kept, nullptr);
  }
}

[[noreturn]] void refuse(const std::string& name) {
  throw std::system_error(errno, std::generic_category(), name);
}

}  // namespace

signals_held_back::signals_held_back() {
  sigset_t all{};
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

signals_held_back::~signals_held_back() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

temporary_file::temporary_file(std::string place, mode_t mode)
    : place_(std::move(place)), name_(place_ + ".XXXXXX") {
  const signals_held_back held;
  handle_signals();
  descriptor_ = ::mkostemp(name_.data(), O_CLOEXEC);
  if (descriptor_ < 0) refuse(place_);
  keep_name(name_.c_str());
  ::fchmod(descriptor_, mode);
}

temporary_file::~temporary_file() {
  ::close(descriptor_);
  if (name_.empty()) return;
  ::unlink(name_.c_str());
  forget_name(name_.c_str());
}

void temporary_file::take_place() {
  const signals_held_back held;
  if (::rename(name_.c_str(), place_.c_str()) != 0) refuse(place_);
  forget_name(name_.c_str());
  name_.clear();
}

}  // namespace ashlar::files
