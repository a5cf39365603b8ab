// os/frame_rule.hpp: how a call is left: where its caller's registers are.
// Layer: os.
//
//   stack pointer                                 the frame's end (tables: canonical frame address)
//   v                                                            v
//   | locals ... | caller's frame pointer | ... | return address | the caller's frame ...
//   addresses grow -->
//
// Laws: the caller's stack pointer is the frame's end, and the return address is the word below it.
// A call of which the tables say anything else is `other`: the compiler's runtime can leave it, we
// cannot.
#pragma once

#include <cstdint>

namespace ashlar::os {

enum class frame_end : std::uint8_t {
  unknown,             // nobody has looked yet
  from_stack_pointer,  // so many bytes from it
  from_frame_pointer,
  outermost,  // there is no caller
  other,
};

/// Eight bytes, so that a rule is read and replaced at once.
struct frame_rule {
  frame_end end = frame_end::unknown;
  std::uint8_t saved_frame_pointer = 0;  // words below the end; 0: it still has the caller's
  std::uint16_t file = 0;                // file_number: whose code this is
  std::uint32_t bytes = 0;               // from that register to the end
};
static_assert(sizeof(frame_rule) == 8);

}  // namespace ashlar::os
