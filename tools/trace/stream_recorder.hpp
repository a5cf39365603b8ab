// tools/trace/stream_recorder.hpp: the events of running programs for somebody who reads them at once. Layer: trace.
//
// Nothing is written, and memory does not grow with the run: what a process has told is in the spool until it is read,
// and what is kept of a process goes when that has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "tools/trace/event_stream.hpp"
#include "tools/trace/recorder.hpp"

namespace ashlar::trace {

/// Reads the events of one process, which may execute one program after the other.
class stream_reader {
 public:
  virtual ~stream_reader() = default;
  /// Effects: reads on, until the source's peek() is null. Called again and again while the process runs.
  virtual void read() = 0;
  /// The process has ended, and all was read.
  virtual void end() = 0;
};

/// Begins to read a process; called once for each. The source lives longer than the reader.
using open_reader = std::function<std::unique_ptr<stream_reader>(std::uint32_t pid, event_source&)>;

class stream_recorder final : public recorder {
 public:
  explicit stream_recorder(open_reader open);  // throws: std::runtime_error
  ~stream_recorder() override;

  std::size_t drain() override;
  void finish() override;

 private:
  struct stream;

  void find_chunks();
  void find_left_chunks();
  void give_back(std::uint32_t chunk_index);
  void begin_stream(std::uint32_t image);
  void begin_silent_program();
  void attach_waiting(stream& to);
  void read_until(stream& of, std::uint64_t time);
  void read_all(stream& of);
  /// Returns: false where the process executed no other program.
  bool go_to_next_image(stream& of);

  open_reader open_;
  std::vector<bool> is_found_ = std::vector<bool>(chunks_max);   // by chunk: attached, or waits
  std::vector<bool> is_left_ = std::vector<bool>(chunks_max);    // by chunk: its thread has ended
  std::map<std::uint32_t, std::vector<std::uint32_t>> waiting_;  // by process: chunks, in order
  std::map<std::uint32_t, std::unique_ptr<stream>> streams_;     // by pid
  std::size_t given_back_ = 0;                                   // in this drain()
  bool program_was_read_ = false;
  bool finished_ = false;
};

}  // namespace ashlar::trace
