// os/call_stack.cpp: how a frame is written, on every system.
// Layer: os.
#include <ashlar/os/call_stack.hpp>

namespace ashlar::os {

void append_frame(text_writer& to, unsigned number, const void* frame) noexcept {
  to << "ashlar:   #" << number << " " << frame;
  const frame_place place = place_of(frame);
  if (place.file != nullptr)
    to << " " << place.file << "+" << reinterpret_cast<const void*>(place.offset);
  if (place.function != nullptr) to << " (" << place.function << ")";
}

void append_frames(text_writer& to, const call_stack& stack) noexcept {
  for (unsigned i = 0; i < stack.depth; ++i) {
    append_frame(to, i, stack.frames[i]);
    to << "\n";
  }
}

}  // namespace ashlar::os
