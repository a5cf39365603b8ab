// os/control_socket.hpp: a socket through which the process's owner asks the library something.
// Layer: os. One file per system implements it; this header names no system.
//
// One thread of the library opens, serves and closes it. That thread has a table of file
// descriptors of its own. So the program sees no descriptor that it did not open, closes none of
// ours, and hands none to a child of fork or to a program that it executes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <ashlar/core/byte_exchange.hpp>

namespace ashlar::os {

/// Effects: writes the answer to `request`, a line without its end, to `out`. `peer` is the process
/// that asks. Returns: false where that text says why the request failed.
using control_handler = bool (*)(const char* request, std::size_t peer, std::FILE* out) noexcept;

/// Where the socket is to be.
struct control_place {
  const char* pattern =
      nullptr;  ///< a path, %p is the process; null: PID.sock in the user's folder
  const char* runtime_folder = "";  ///< XDG_RUNTIME_DIR; empty: none
  bool is_forked = false;           ///< the process adds its number to a path that has none
};

class control_socket {
 public:
  constexpr control_socket() noexcept = default;
  control_socket(const control_socket&) = delete;
  control_socket& operator=(const control_socket&) = delete;

  /// What opening gave.
  struct opening {
    int error = 0;              ///< 0, or the error's number
    const char* why = nullptr;  ///< the error in words; null: nothing is to be told
  };

  /// Effects: the calling thread has its own table of file descriptors from now on, with nothing
  /// but standard streams, which lead nowhere once the socket is open. Makes the user's folder if
  /// it is not there, and opens the socket. A socket that a dead process has left is replaced;
  /// others in the user's folder are removed. Requires: a thread of the library's own, which calls
  /// this once.
  [[nodiscard]] opening open(const control_place& at) noexcept;

  /// Effects: answers requests of the process's owner and of root until `must_end` and `wake`. A
  /// client that neither sends nor reads is dropped after some seconds, and keeps no other one
  /// waiting. Sleeps without a timer while there is no client. Requires: `open`, by this thread.
  void serve(control_handler answer, const std::atomic<bool>& must_end) noexcept;

  /// Effects: wakes the thread that serves. Callable from another thread while that one lives.
  void wake() noexcept;

  /// Effects: the socket's name is gone, if it was ours. Callable from any thread.
  void remove_name() noexcept;

  /// Effects: the child of a fork has no socket, and its parent's keeps its name.
  void forget() noexcept { is_named_.store(false, std::memory_order_relaxed); }

  /// Returns: the path that `open` has tried last.
  [[nodiscard]] const char* path() const noexcept { return path_; }

  /// What a path may have. A socket's address has 107; the name before may be longer than the last.
  static constexpr std::size_t path_bytes_max = 94;

 private:
  static constexpr std::size_t path_max = 108;  // of an address, with the null character

  [[nodiscard]] opening choose_path(const control_place& at) noexcept;
  [[nodiscard]] opening listen_at_name() noexcept;
  /// Effects: the socket at `before` gets its path, unless a process listens there.
  [[nodiscard]] opening give_name(const char* before) noexcept;

  char path_[path_max] = {};
  std::uint64_t device_ = 0, file_ = 0;  ///< what the name led to
  std::atomic<detail::exchangeable<bool>> is_named_{false};
  std::atomic<int> thread_{0};
  int listener_ = 0;  ///< of the thread that serves, as the next
  int bell_ = 0;
};

/// Effects: `process` may look into this one, as ptrace(2) does, where the system lets nobody do
/// that unasked (Yama). That ends with `process`.
void let_trace(std::size_t process) noexcept;

}  // namespace ashlar::os
