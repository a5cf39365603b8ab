// interleave/scheduler.hpp: runs a program of a few threads once for every order of their shared accesses.
//
// Threads are fibers of one real thread, so nothing runs at the same time and a schedule can be repeated. Before each
// access to an atomic the scheduler decides who goes on; explore() takes every decision there is, depth first, by
// running the program from its beginning again and again. Two orders that differ only in accesses that do not touch
// (another place, or reads only) are one: sleep sets (Godefroid, "Partial-Order Methods", 1996) leave out the second.
//
// What it shows: every interleaving, each access seen by all at once. That is less than the memory model allows; but
// it follows what release and acquire operations hand over (vector clocks), and a plain<T> that two threads use without
// such an edge between them is a data race, in whatever order they happened to come.
// A loop that waits does not end: a thread that reads the same again and again goes on when somebody has written.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace interleave {

inline constexpr unsigned most_threads = 3;
/// Reads of one unchanged value in a row after which a thread waits for a change: more than a bounded spin takes.
inline constexpr unsigned spins_before_waiting = 200;

enum class access { read, write };

/// How much of what other threads did a thread knows.
using clock_vector = std::array<std::uint32_t, most_threads>;

// ---- what the model's atomics, locks and plain data call; outside of explore() they do nothing ----

/// Effects: somebody else may go on before the calling thread does this access.
void before(const void* place, access kind) noexcept;
/// As before(place, read) for a load, but a repeated one does not let others go on, and after
/// spins_before_waiting of them the thread waits.
void before_load(const void* place) noexcept;
/// Effects: notes a change of `place`; who waited for one may go on.
void changed(const void* place) noexcept;
/// Effects: the thread knows what was released at `place`; it releases there what it knows. `continues`: of a
/// read-modify-write, after which an earlier release at the place still counts.
void acquired(const void* place) noexcept;
void released(const void* place, bool continues) noexcept;
/// Effects: a relaxed store hides what was released at the place before.
void overwritten(const void* place) noexcept;
/// Effects: the thread sleeps at `place` until wake_one(place) picks it.
void sleep_at(const void* place) noexcept;
void wake_one(const void* place) noexcept;
/// Effects: an access to plain data; ends the execution as failed when it races.
void plain_access(const void* place, access kind) noexcept;

/// Effects: the execution is a failed one: explore() returns what went wrong. In a thread: does not return.
void fail(const std::string& what) noexcept;
inline void require(bool holds, const char* what) noexcept {
  if (!holds) fail(what);
}
/// Returns: whether a thread of an execution calls.
[[nodiscard]] bool in_thread() noexcept;
/// Returns: the calling thread's number. Requires: called in a thread of an execution.
unsigned self() noexcept;
/// Returns: the number of the present execution, or of the last one; no other one has had it.
[[nodiscard]] std::uint64_t execution() noexcept;
/// Effects: the calling thread ends here.
[[noreturn]] void end_thread() noexcept;

// ---- what tests call ----

/// One program: `begin` builds its state, `thread(i)` is what thread i does, `end` looks at what is left.
struct program {
  std::function<void()> begin;
  std::function<void(unsigned)> thread;
  std::function<void()> end;
};

struct limits {
  /// How often a thread that could go on may be interrupted; any number: every interleaving.
  unsigned preemptions = ~0U;
  std::uint64_t executions =
      5'000'000;  ///< more is a failure: the test is too large to be what it says it is
};

struct outcome {
  std::uint64_t executions = 0;  ///< complete ones
  std::string failure;           ///< what went wrong first, and in which order; empty: nothing
};

[[nodiscard]] outcome explore(unsigned threads, const program& p, const limits& bounds = {});

/// Data that is no atomic: somebody must order its accesses.
template <class T>
class plain {
 public:
  plain() = default;
  [[nodiscard]] T read() const noexcept {
    plain_access(this, access::read);
    return value_;
  }
  void write(T value) noexcept {
    plain_access(this, access::write);
    value_ = value;
  }

 private:
  T value_{};
};

/// A lock whose waiters wait: for what is locked, where the lock itself is not what is looked at.
class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() noexcept {
    before(this, access::write);
    while (held_) sleep_at(this);
    held_ = true;
    acquired(this);
  }
  [[nodiscard]] bool try_lock() noexcept {
    before(this, access::write);
    if (held_) return false;
    held_ = true;
    acquired(this);
    return true;
  }
  void unlock() noexcept {
    before(this, access::write);
    released(this, true);
    held_ = false;
    wake_one(this);
  }

 private:
  bool held_ = false;
};

}  // namespace interleave
