// model/worker.hpp: one thread's part of a run: a sequence of operations, and what it works on.
#pragma once

#include <chrono>
#include <tests/model/subject.hpp>

namespace model {

#ifdef _WIN32
inline constexpr bool can_fork = false;
#else
inline constexpr bool can_fork = true;
#endif

struct plan {
  std::uint64_t seed;
  std::size_t threads;
  std::uint64_t operations;   ///< of each thread
  std::uint64_t audit_every;  ///< operations of each thread
  std::vector<kind> kinds;
  bool forks;
};

/// What the threads have in common.
struct world {
  explicit world(const plan& what);
  [[nodiscard]] const kind& choose(draw& d) const;

  const plan& the_plan;
  std::vector<std::unique_ptr<subject>>
      shared;              ///< one for each kind; empty: each thread has its own
  std::size_t weight = 0;  ///< the kinds' sum
  std::atomic<bool> stop{false};
};

/// What is audited, for the message of who is ended by it. Audits are the main thread's.
inline const char* audited = "";

struct effort {
  std::uint64_t operations = 0;
  std::chrono::nanoseconds time{0};
};

class worker {
 public:
  worker(world& shared, std::size_t self);

  /// Effects: goes on until the operation of that number. Requires: one thread at a time.
  void run(std::uint64_t until);
  /// Effects: requires that every block of this worker, and all that its own subjects know, is right.
  /// Requires: it does not run.
  void audit();
  void add_ranges(std::vector<range>& all) const;
  /// Effects: its own subjects end.
  void end();

  [[nodiscard]] std::uint64_t operation() const { return operations_.number(); }
  [[nodiscard]] const char* subject_name() const { return subject_name_; }
  [[nodiscard]] const std::vector<effort>& efforts() const { return efforts_; }
  [[nodiscard]] std::uint64_t forks() const { return forks_; }
  [[nodiscard]] std::uint64_t lives() const { return lives_; }

 private:
  void stretch(std::uint64_t until);
  void fork_and_go_on();
  [[noreturn]] void go_on_as_child();

  world& world_;
  std::size_t self_;
  sequence operations_;
  std::vector<std::unique_ptr<subject>>
      own_;                      ///< one for each kind that is not shared, once it is chosen
  std::vector<effort> efforts_;  ///< for each kind
  std::uint64_t forks_ = 0, lives_ = 0;
  bool in_child_ = false;
  const char* subject_name_ = "";
};

}  // namespace model
