// tools/trace/writer.hpp: a trace, written from the front to the end. Layer: trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "tools/trace/frame.hpp"

namespace ashlar::trace {

/// Takes the bytes of a trace in their order; throws when it cannot.
using byte_sink = std::function<void(std::string_view)>;

/// Not thread-safe. What was not flushed is lost when it ends without close().
class trace_writer {
 public:
  /// Effects: writes the header.
  trace_writer(byte_sink sink, const trace_header& header);

  /// Effects: takes an event; writes the frame when it is full. Requires: the thread is not 0; its times do not go back;
  /// a text has at most event_text_max bytes.
  void add(const event& e);
  /// Effects: frames that begin from now on keep times within 2 to that power of ticks. At first 0:
  /// times are exact.
  void keep_times_within(unsigned time_bits) { time_bits_ = time_bits; }
  /// Effects: writes what there is of this thread.
  void flush(std::uint32_t thread);
  /// Effects: writes definitions.
  template <class Definition>
  void add(const std::vector<Definition>& all) {
    for (std::span<const Definition> rest(all); !rest.empty();) {
      const auto some = rest.first(std::min(rest.size(), definitions_each));
      sink_(encode(some, compressor_));
      rest = rest.subspan(some.size());
    }
  }
  void add(const exit_look& look) { sink_(encode(look, compressor_)); }
  /// So many go into a frame.
  static constexpr std::size_t definitions_each = 4096;
  /// Effects: writes what there is of all threads, in their order, and the end.
  void close();

  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  void select(std::uint32_t thread);
  void write_frame(std::uint32_t thread, frame_encoder& encoder);

  byte_sink sink_;
  compressor compressor_;
  std::unordered_map<std::uint32_t, std::unique_ptr<frame_encoder>> open_;
  std::vector<std::unique_ptr<frame_encoder>> unused_;
  std::uint32_t last_thread_ = 0;  // 0: none
  frame_encoder* last_ = nullptr;
  unsigned time_bits_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace ashlar::trace
