// tools/replay/script_builder.hpp: the steps of a trace, written as a script. Layer: replay.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "tools/replay/script.hpp"
#include "tools/trace/lifetimes.hpp"

namespace ashlar::replay {

enum class script_order {
  /// Each thread of the trace is one of the script, a realloc is one.
  by_thread,
  /// One thread has all, in the trace's order; a realloc is a death and a birth, as the tuner counts it.
  one_sequence,
};

struct script_summary {
  script_header header{};
  std::uint64_t births = 0;
  std::uint64_t deaths = 0;
  std::uint64_t unknown_deaths = 0;  ///< skipped: of blocks from before the recording
  std::uint64_t missing_deaths = 0;  ///< added: births at addresses that lived
  std::uint64_t left_out = 0;        ///< births of blocks larger than asked for
  std::uint64_t lost = 0;            ///< events that the recorder says it has lost
};

/// Writes as it goes: memory is that of the slots, and a chunk a thread. Not thread-safe.
class script_builder {
 public:
  /// Writes to `descriptor`, a file that it does not own. Blocks larger than `largest` bytes are left out.
  script_builder(int descriptor, script_order order, std::uint64_t largest = UINT64_MAX);

  /// Requires: steps as trace::lifetimes gives them. Throws: std::system_error when the file cannot be written.
  void add(const trace::step& s);
  script_summary finish();

 private:
  struct thread {
    script_thread entry{};
    std::vector<operation> chunk;
    std::vector<std::uint32_t> chunks;
    bool resizes = false;  // its realloc's block has died, and is not yet born again: `resized`
    trace::step resized;
  };
  // Of a slot of the trace: where its block is.
  struct place {
    std::uint32_t slot = trace::no_slot;
    std::uint64_t size = 0;
  };
  thread& thread_of(std::uint32_t number);
  void put(thread& t, operation_kind kind, std::uint32_t slot, const trace::step& s);
  void write_chunk(thread& t);
  void birth(thread& t, const trace::step& s);
  void death(thread& t, const trace::step& s);
  void end_resize(thread& t);
  std::uint32_t take_slot();
  void write(const void* bytes, std::size_t count, std::uint64_t at) const;
  void write_inspection();
  void write_tables();

  int descriptor_;
  script_order order_;
  std::uint64_t largest_;
  script_summary summary_;
  std::map<std::uint32_t, thread> threads_;  // by number
  std::vector<std::uint32_t> in_order_;      // their numbers, by first operation
  std::vector<place> places_;                // by the trace's slot
  std::vector<std::uint32_t> turns_;         // by the script's slot
  std::deque<std::uint32_t> free_slots_;
  thread inspection_;
};

/// Reads a trace to its end. `tell` gets the share that is done, now and then.
template <class Tell>
script_summary write_script(trace::trace_reader& from, script_builder& to, Tell&& tell) {
  trace::lifetimes blocks(from);
  std::uint64_t steps = 0;
  const auto all = static_cast<double>(from.events() == 0 ? 1 : from.events());
  for (trace::step s; blocks.next(s); ++steps) {
    if (steps % (1u << 18) == 0) tell(static_cast<double>(steps) / all);
    to.add(s);
  }
  return to.finish();
}

}  // namespace ashlar::replay
