// tools/attach/stopped_thread.hpp: one thread of another process, which stands still. Layer:
// attach.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tools/attach/process_modules.hpp"
#include "tools/attach/registers.hpp"
#include "tools/image/interrupted_wait.hpp"

namespace ashlar::attach {

class stopped_thread {
 public:
  /// Effects: stops it. Throws: files::command_error.
  stopped_thread(pid_t pid, pid_t thread);
  /// Effects: its registers and its mask are what they were, and it goes on.
  ~stopped_thread();
  stopped_thread(const stopped_thread&) = delete;
  stopped_thread& operator=(const stopped_thread&) = delete;

  /// Returns: false where it ended before it stood still.
  [[nodiscard]] bool is_there() const { return is_there_; }
  /// Returns: whether it may call the allocator and the loader: it is in neither of them, and waits
  /// in no call of the system that they make.
  [[nodiscard]] bool is_at_safe_place(const process_modules& modules,
                                      std::span<const std::string> unsafe_files) const;
  /// Returns: where it stands, as the end of a sentence.
  [[nodiscard]] std::string place(const process_modules& modules) const;
  /// Effects: keeps signals back until the end.
  void hold_signals();
  /// Effects: calls a function on the stack that ends there. Returns: what it returns. Throws:
  /// files::command_error.
  std::uint64_t call(std::uint64_t function, std::uint64_t stack_end,
                     std::span<const std::uint64_t> arguments);
  [[nodiscard]] std::uint64_t stack_pointer() const { return stack_pointer_of(registers_); }

 private:
  /// How a thread comes to a stop.
  enum class stop { asked_for, by_signal, ended };
  stop await(int& signal, int patience_ms);
  void read_registers();
  void write_registers();
  void go_on(int signal) const;

  pid_t pid_;
  pid_t thread_;
  std::optional<image::timed_wait> wait_;
  bool is_there_ = false;
  bool is_changed_ = false;
  bool holds_signals_ = false;
  int signal_at_end_ = 0;
  std::uint64_t mask_ = 0;
  general_registers registers_{};
  std::vector<unsigned char> floating_;
};

// A thread of another process that makes calls for us.
// One thread stands still, the others run: what they have locked, they unlock. The thread's own
// registers, mask of signals and errno are put back. A signal that arrives meanwhile waits until
// then, and a call of the system that was interrupted goes on.

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
