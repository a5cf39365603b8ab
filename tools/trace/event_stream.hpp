// tools/trace/event_stream.hpp: the events of one process, in order, while it runs. Layer: trace.
//
// They are read where the process writes them, from all its chunks, also from those that are far from full: a thread that
// allocates rarely would keep its events for hours. Nothing is copied, so memory is what the spool has.
//
// The order over threads: all that was told before a time T is known once T was read from the clock and then every chunk
// was looked at (know_until). Up to there, but for what clocks may differ, events are given out. What is told late, of
// before T, gets the time T: it is of a block that no other event was about (spool.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "tools/trace/chunk_events.hpp"
#include "tools/trace/merged_events.hpp"

namespace ashlar::trace {

/// What a stream asks about a chunk, and tells.
struct chunk_access {
  std::function<const chunk&(std::uint32_t index)> at;
  std::function<bool(std::uint32_t index)> is_final;   ///< nothing more is written into it
  std::function<void(std::uint32_t index)> give_back;  ///< it is final, and all was read
};

class event_stream final : public merged_events {
 public:
  event_stream(chunk_access chunks, std::uint64_t start_ticks, std::uint64_t ticks_per_second);

  [[nodiscard]] std::uint64_t ticks_per_second() const override { return ticks_per_second_; }

  /// Effects: it is read, too. Requires: a thread's chunks come in its order, none is left out.
  void attach(std::uint32_t chunk_index);
  /// Effects: what is told by now up to `time`, but for what clocks may differ, is given out by peek(). Requires: `time` was
  /// read from the clock before the last look for chunks, and all that were found are attached.
  void know_until(std::uint64_t time);
  /// Effects: nothing will be written any more, so all there is can be given out. What is attached later is of another image.
  void end_image();
  /// Effects: the recorder's own event comes behind all before. Requires: all before was read.
  void tell(event_kind kind, std::uint64_t number, std::string text);

  /// Returns: the earliest time of a death that a thread has announced, and not told yet; UINT64_MAX: there is none.
  [[nodiscard]] std::uint64_t held() const;

 private:
  struct thread_lane : lane {
    thread_lane(std::uint32_t thread_number, std::uint64_t start) : events(start) {
      thread = thread_number;
    }
    std::deque<std::uint32_t> chunks;  // the first one is being read; all but the last are sealed
    chunk_events events;
  };

  bool advance(lane& of) override;
  [[nodiscard]] bool is_final(const thread_lane& of) const;
  void look_again(std::uint64_t earliest);

  chunk_access chunks_;
  std::uint64_t start_ticks_;
  std::uint64_t ticks_per_second_;
  std::map<std::uint32_t, thread_lane> lanes_;  // by thread
  lane own_;                                    // of what tell() said
  std::string own_text_;
  std::uint64_t last_time_ = 0;  // of what was read
  bool image_ended_ = false;
};

}  // namespace ashlar::trace
