// tools/attach/borrowed_thread.hpp: a thread of another process that makes calls for us. Layer:
// attach.
//
// One thread stands still, the others run: what they have locked, they unlock. The thread's own
// registers, mask of signals and errno are put back. A signal that arrives meanwhile waits until
// then, and a call of the system that was interrupted goes on.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include <sys/types.h>

#include "tools/attach/process_modules.hpp"

namespace ashlar::attach {

class borrowed_thread {
 public:
  /// Effects: stops a thread that is neither in the allocator nor in the loader. Throws:
  /// files::command_error, where there is none for some seconds or the system forbids it.
  borrowed_thread(pid_t pid, const process_modules& modules);
  /// Effects: it goes on as if nothing had been.
  ~borrowed_thread();
  borrowed_thread(const borrowed_thread&) = delete;
  borrowed_thread& operator=(const borrowed_thread&) = delete;

  /// Returns: what the function returns. Throws: files::command_error: it did not.
  std::uint64_t call(std::uint64_t function, std::initializer_list<std::uint64_t> arguments);
  /// Returns: the value of the thread's errno.
  [[nodiscard]] int error_number();
  /// Effects: puts a text where call() may be told its address. Requires: for one call only.
  [[nodiscard]] std::uint64_t put(const std::string& text);
  /// Returns: how long it has stood still.
  [[nodiscard]] double pause_ms() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace ashlar::attach
