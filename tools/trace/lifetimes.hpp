// tools/trace/lifetimes.hpp: events as births and deaths of slots: small dense numbers, used again. Layer: trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/trace/address_map.hpp"
#include "tools/trace/event.hpp"
#include "tools/trace/reader.hpp"

namespace ashlar::trace {

inline constexpr std::uint32_t no_slot = UINT32_MAX;
/// The recorder looks at so many blocks of a call stack before it leaves some out. Fewer stand for no others.
inline constexpr std::uint64_t looks_of_stack = 64;

/// One step of a program's heap.
struct step {
  enum class what : std::uint8_t {
    birth,
    death,  ///< of a block whose birth was seen; `size` and `alignment` are those of the birth
    unknown_death,  ///< of a block from before the recording, or whose birth was lost: no slot, no size
    other,          ///< thread_start ... lost, and notes: `size` is the event's number
  };
  what happened = what::other;
  event_kind kind{};
  std::uint32_t slot = no_slot;  ///< also of a note, where its block lives
  /// Of a birth by realloc: the slot of the block that it was, no_slot where there was none or it was unknown.
  std::uint32_t previous = no_slot;
  std::uint32_t thread = 0;
  std::uint32_t born_by = 0;  ///< of a death: the thread of the birth
  std::uint32_t stack = 0;    ///< of the birth
  std::uint64_t time = 0;
  std::uint64_t born_at = 0;      ///< of a death and of a note: the time of the birth
  std::uint64_t block_bytes = 0;  ///< of a note: its block's
  std::uint64_t size = 0;
  std::uint64_t alignment = 0;
  std::uint64_t address = 0;
  std::string_view text;  ///< valid until the next step
};

/// Reads events to their end, step by step. A slot that died is the first to be used again, so the number of slots is the
/// most blocks that ever lived at once.
///
/// Two threads' clocks may differ by a little. A birth at an address that still lives therefore waits for the other
/// threads' events of the next moment, and so does a death of an address that does not live. Where that brings nothing,
/// the death (or the birth) is missing in the trace: the block that lived there dies first, by the event `lost`. A note
/// waits as a death does.
///
/// In a large heap each event is about a block of long ago, whose bytes are in no cache. So the source tells of events ahead,
/// and what will be looked at is brought near many events at a time (coming()), instead of being waited for one by one.
class lifetimes final : private event_preview {
 public:
  /// Does not own the source, which nobody else reads meanwhile and which lives longer.
  explicit lifetimes(trace_reader& from);
  ~lifetimes();
  lifetimes(const lifetimes&) = delete;
  lifetimes& operator=(const lifetimes&) = delete;

  /// Returns: false at the end. Throws: trace_error.
  bool next(step& s);

  [[nodiscard]] std::uint32_t slots() const {
    return std::max(slots_before_, static_cast<std::uint32_t>(blocks_.size()));
  }
  [[nodiscard]] std::uint64_t live_blocks() const { return live_.size(); }
  /// Births at addresses that lived: each is a death that the trace does not have.
  [[nodiscard]] std::uint64_t missing_deaths() const { return missing_deaths_; }
  [[nodiscard]] std::uint64_t unknown_deaths() const { return unknown_deaths_; }

 private:
  struct block {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t born_at = 0;
    std::uint32_t thread = 0;
    std::uint32_t stack = 0;
    std::uint8_t alignment = 0;  // its logarithm + 1; 0: none
    bool lives = false;
  };
  void coming(std::span<const event> events) override;
  [[nodiscard]] address_map::place place_of(std::uint64_t address) const;
  void birth(const event& e, address_map::place at, step& s);
  void death(const event& e, address_map::place at, step& s);
  void note(const event& e, address_map::place at, step& s) const;
  bool end_next_of_image(step& s);
  void fill(const event& e, step& s) const;

  trace_reader& events_;
  std::uint64_t patience_;
  address_map live_;
  std::vector<block> blocks_;  // by slot
  std::vector<std::uint32_t> free_;
  // By thread: the slot that its realloc gave up, until the birth behind it.
  std::unordered_map<std::uint32_t, std::uint32_t> given_up_;
  std::uint32_t image_slot_ = 0;    // of an image that ends: no slot below it lives
  std::uint32_t slots_before_ = 0;  // the most that an image before had
  bool taken_ = false;              // peek()'s event was given out
  std::uint64_t missing_deaths_ = 0;
  std::uint64_t unknown_deaths_ = 0;
};

/// What a process executed, one program after the other: a header for each, with its words.
class program_course {
 public:
  explicit program_course(const trace_header& first) : all_{{0, first}} {}
  void count(const step& s);
  [[nodiscard]] const trace_header& at(std::uint64_t time) const;
  [[nodiscard]] const trace_header& last() const { return all_.back().second; }

 private:
  std::vector<std::pair<std::uint64_t, trace_header>> all_;  // by begin
};

}  // namespace ashlar::trace
