// tools/shim/call_frames.cpp. Layer: shim.
#include "tools/shim/call_frames.hpp"

#include <algorithm>

#include <unwind.h>

#include <ashlar/os/frame_walk.hpp>
#include <ashlar/os/own_code.hpp>

namespace ashlar::shim {
namespace {

struct unwinding {
  call_frames* out;
  std::uint32_t depth;
};

_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* argument) {
  const unwinding& u = *static_cast<unwinding*>(argument);
  const auto* const address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
  if (address == nullptr) return _URC_END_OF_STACK;
  if (u.out->depth == 0 && os::is_own_code(address)) return _URC_NO_REASON;
  if (u.out->depth == u.depth) {
    u.out->is_cut = true;
    return _URC_END_OF_STACK;
  }
  u.out->frames[u.out->depth++] = address;
  return _URC_NO_REASON;
}

}  // namespace

void unwind_frames(call_frames& out, std::uint32_t depth) {
  out.depth = 0;
  out.is_cut = false;
  unwinding u{&out, std::min(depth, stack_depth_max)};
  _Unwind_Backtrace(&take_frame, &u);
}

void find_frames(call_frames& out, std::uint32_t depth) {
  const os::walk_result walked = os::walk_frames(out.frames, std::min(depth, stack_depth_max));
  if (walked.end == os::walk_end::unknown) return unwind_frames(out, depth);
  out.depth = walked.depth;
  out.is_cut = walked.end == os::walk_end::full;
}

}  // namespace ashlar::shim
