// runtime/control.hpp: the process's control socket, and the thread that serves it.
// Layer: runtime.
//
//   off      -> resting   allow(where): the environment wants it, or a fork's child begins
//   resting  -> serving   an allocation that missed starts the thread
//   serving  -> resting   the last thread with a cache ends: this one is stopped before it
//   any      -> off       close, the end of the process
//   changing: in between, while one thread starts or stops it
//
// Only an allocation or ashlar_control starts the thread, for the reason that background.hpp gives.
// The two are not one thread: that one naps beside a futex, and must not wait for a client; this
// one sleeps in poll(2), and a profile that it writes must not delay the memory that goes back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <ashlar/core/config.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/os/control_socket.hpp>
#include <ashlar/os/service_thread.hpp>

namespace ashlar::runtime {

class control {
 public:
  constexpr control() noexcept = default;
  control(const control&) = delete;
  control& operator=(const control&) = delete;

  /// Effects: the socket is to be open from the next allocation on that misses. `where` is "1", for
  /// the user's folder, or a path. Requires: is_control_place(where); no other thread yet.
  void allow(const char* where) noexcept;

  /// Effects: opens the socket, after it has closed the one that there was. Returns: 0, or the
  /// error's number; then there is none. Requires: is_control_place(where); no lock of the
  /// library's is held.
  [[nodiscard]] int open(const char* where) noexcept;

  /// Effects: closes the socket, and forbids it. The thread has ended then.
  void close() noexcept { end(state::off); }

  /// Called by allocations that missed. Requires: the caller has a cache, and holds no lock of the
  /// heap.
  void note_allocation() noexcept {
    if (state_.load(std::memory_order_relaxed) == state::resting) [[unlikely]]
      static_cast<void>(start());
  }

  /// Effects: ends the thread, if there is one, and waits for that. It is started anew when it is
  /// needed.
  void stop() noexcept { end(state::resting); }

  /// Effects: the socket's name is gone. The thread ends with the process.
  void end_with_process() noexcept;

  /// Returns: whether there is a thread, or may be one later.
  [[nodiscard]] bool is_on() const noexcept {
    return state_.load(std::memory_order_relaxed) != state::off;
  }
  [[nodiscard]] bool is_running() const noexcept {
    return state_.load(std::memory_order_relaxed) == state::serving;
  }

  /// Effects: there is no thread. For the child of a fork, which opens a socket of its own.
  void forget_thread() noexcept;

 private:
  // A word: not every processor exchanges a byte.
  enum class state : unsigned { off, resting, changing, serving };

  ASHLAR_COLD bool start() noexcept;
  ASHLAR_MISS void end(state last) noexcept;
  [[nodiscard]] bool change(state from, state to) noexcept;
  void choose(const char* where) noexcept;

  static void run() noexcept;
  void open_and_serve() noexcept;
  void complain(const os::control_socket::opening& result) const noexcept;

  static constexpr std::size_t path_max = 128;
  static constexpr int not_yet = -1;

  std::atomic<state> state_{state::off};
  std::atomic<bool> must_end_{false};
  std::atomic<int> opened_{not_yet};  ///< what opening gave, an error's number
  bool by_environment_ = false;       ///< an error is told on standard error
  bool is_forked_ = false;
  char pattern_[path_max] = {};         ///< empty: the user's folder
  char runtime_folder_[path_max] = {};  ///< XDG_RUNTIME_DIR; empty: none
  os::control_socket socket_;
  os::service_thread thread_;
};

extern control the_control;

/// Which heap beside the process heap is meant: the newest of a name, or with any name.
struct named_heap {
  const char* wanted = nullptr;   ///< null: any name that is not empty
  std::uint64_t id = UINT64_MAX;  ///< it began before the heap of this id; then its own id
  char name[64] = {};             ///< then as much of its name as there is room for
};
/// What answers for such heaps (instance/heap_body.cpp). Returns: whether `which` lives: then it
/// has the `budget` from now on if that is not null, 0: as much as there is, and `now` has its
/// figures.
using named_heap_request = bool (*)(named_heap& which, const std::uint64_t* budget,
                                    ashlar_stats& now) noexcept;
/// Null until the first of them begins.
extern constinit std::atomic<named_heap_request> ask_named_heap;

/// An os::control_handler. Defined in adapt, whose texts it writes (adapt/control_requests.cpp).
[[nodiscard]] bool answer_control(const char* request, std::size_t peer, std::FILE* out) noexcept;

}  // namespace ashlar::runtime
