// tools/trace/writer.cpp. Layer: trace.
#include "tools/trace/writer.hpp"

#include <algorithm>
#include <utility>

namespace ashlar::trace {

trace_writer::trace_writer(byte_sink sink, const trace_header& header) : sink_(std::move(sink)) {
  sink_(encode(header));
}

void trace_writer::write_frame(std::uint32_t thread, frame_encoder& encoder) {
  std::string bytes;
  encoder.finish(thread, compressor_, bytes);
  sink_(bytes);
}

void trace_writer::select(std::uint32_t thread) {
  std::unique_ptr<frame_encoder>& encoder = open_[thread];
  if (encoder == nullptr) {
    if (unused_.empty()) unused_.push_back(std::make_unique<frame_encoder>());
    encoder = std::move(unused_.back());
    unused_.pop_back();
  }
  last_thread_ = thread;
  last_ = encoder.get();
}

void trace_writer::add(const event& e) {
  if (e.thread != last_thread_) select(e.thread);
  last_->add(e, time_bits_);
  ++events_;
  if (last_->full()) write_frame(e.thread, *last_);
}

void trace_writer::flush(std::uint32_t thread) {
  const auto found = open_.find(thread);
  if (found == open_.end()) return;
  if (found->second->count() != 0) write_frame(thread, *found->second);
  if (last_thread_ == thread) last_thread_ = 0;
  unused_.push_back(std::move(found->second));
  open_.erase(found);
}

void trace_writer::close() {
  std::vector<std::uint32_t> threads;
  threads.reserve(open_.size());
  for (const auto& [thread, encoder] : open_) threads.push_back(thread);
  std::ranges::sort(threads);
  for (const std::uint32_t thread : threads) flush(thread);
  sink_(encode_end(events_));
}

}  // namespace ashlar::trace
