// tools/files/temporary_file.hpp: a file beside its place, until it is whole. Layer: files.
#pragma once

#include <csignal>
#include <string>

#include <sys/types.h>

namespace ashlar::files {

// While it lives, this thread is not interrupted: what is done meanwhile is done whole.
class signals_held_back {
 public:
  signals_held_back();
  ~signals_held_back();
  signals_held_back(const signals_held_back&) = delete;
  signals_held_back& operator=(const signals_held_back&) = delete;

 private:
  sigset_t before_{};
};

// A new file with a name that nothing else had. It goes away with the object, or with a process that a signal ends, unless
// it has taken its place by then. Requires: where threads make them, the signals are blocked, as by signal_watch.
class temporary_file {
 public:
  // Effects: makes it beside `place`. Throws: std::system_error.
  temporary_file(std::string place, mode_t mode);
  ~temporary_file();
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  // Effects: the file has the place's name, and what had it before is gone. Throws: std::system_error.
  void take_place();

 private:
  std::string place_;
  std::string name_;  // empty: it has the place's
  int descriptor_ = -1;
};

}  // namespace ashlar::files
