// tools/attach/stopped_thread.hpp: one thread of another process, which stands still. Layer:
// attach.
#pragma once

#include <cstdint>
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

}  // namespace ashlar::attach
