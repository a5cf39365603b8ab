// tools/trace/merged_events.hpp: the order over threads. Layer: trace.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "tools/trace/event.hpp"

namespace ashlar::trace {

/// Of several threads, each in order by itself, the earliest event comes first. Where each one's come from, the class
/// that is derived says.
class merged_events : public event_source {
 public:
  const event* peek() final;
  void pop() final;
  bool postpone(std::uint64_t ticks) final;

 protected:
  /// A thread's place. `turn` is the time at which it comes: that of its next event, or later where that was postponed.
  struct lane {
    std::uint32_t thread = 0;
    std::uint64_t turn = 0;
    bool has_event = false;  // `next` is read; before that, only its time is known
    event next;

    [[nodiscard]] bool comes_before(const lane& other) const {
      return std::tuple(turn, thread) < std::tuple(other.turn, other.thread);
    }
  };

  /// Effects: reads the thread's next event, its turn and has_event. Returns: has_event.
  virtual bool advance(lane& of) = 0;
  /// Effects: it comes in its turn from now on, until advance() finds no event. Requires: it does not yet.
  void schedule(lane& added);

 private:
  lane* unschedule();

  std::vector<lane*> waiting_;  // a heap: the first is the one that all others come after
  lane* current_ = nullptr;     // peek()'s; not among those that wait
};

}  // namespace ashlar::trace
