// tools/trace/chunk_events.hpp: the records of a thread's chunks as events. Layer: trace.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/trace/event.hpp"
#include "tools/trace/format.hpp"
#include "tools/trace/spool.hpp"

namespace ashlar::trace {

/// What records define beside events. Each image of a process numbers its stacks from 1 on; here they go on.
struct chunk_definitions {
  std::vector<stack_definition> stacks;
  std::vector<module_definition> modules;
  std::vector<memory_look> looks;
  std::vector<own_mapping> mappings;
  std::uint32_t stack_base = 0;  // stacks of this image are numbered from there
  std::uint32_t stack_most = 0;
};

/// Reads one chunk after the other of one thread, each while it is still written. Its times do not go back.
class chunk_events {
 public:
  /// `start`: the ticks at which a recording's time begins. `into` lives longer.
  chunk_events(std::uint64_t start, chunk_definitions& into) : start_(start), definitions_(&into) {}

  /// Effects: goes on with this chunk. Requires: next() found nothing more in the one before, which is final.
  void begin(const chunk& c);
  /// Effects: no later event has an earlier time.
  void not_before(std::uint64_t time) { time_ = time > time_ ? time : time_; }
  /// Returns: false where there is nothing more in the first `records` of the chunk, yet. `text`
  /// lies in the chunk. Requires: `records` is what the chunk had in use once.
  bool next(event& e, std::uint32_t records = chunk::records_max);
  /// That of the last event.
  [[nodiscard]] std::uint64_t time() const { return time_; }

 private:
  bool has_record(std::uint32_t records);
  void read_prefix(const spool_record& r);
  std::string_view bytes_behind();

  std::uint64_t start_;
  chunk_definitions* definitions_;
  const chunk* chunk_ = nullptr;
  std::uint32_t at_ = 0;    // the next record
  std::uint32_t used_ = 0;  // as it was when it was last looked at
  std::uint64_t ticks_ = 0;
  std::uint64_t time_ = 0;
  // What was said of the next event, which may come later.
  std::uint64_t full_size_ = 0;  // 0: the record's own
  std::uint64_t alignment_ = 0;
  std::uint32_t stack_ = 0;
  std::string_view text_;
};

}  // namespace ashlar::trace
