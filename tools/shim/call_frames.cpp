// tools/shim/call_frames.cpp. Layer: shim.
#include "tools/shim/call_frames.hpp"

#include <algorithm>

#include <link.h>
#include <unwind.h>

// Where the linker has put this library.
extern "C" const ElfW(Ehdr) __ehdr_start [[gnu::visibility("hidden")]];
extern "C" const char _end [[gnu::visibility("hidden")]];

namespace ashlar::shim {
namespace {

struct unwinding {
  call_frames* out;
  std::uint32_t depth;
};

_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* argument) {
  const unwinding& u = *static_cast<unwinding*>(argument);
  const auto address = static_cast<std::uintptr_t>(_Unwind_GetIP(context));
  if (address == 0) return _URC_END_OF_STACK;
  if (u.out->depth == 0 && is_own_code(address)) return _URC_NO_REASON;
  if (u.out->depth == u.depth) {
    u.out->is_cut = true;
    return _URC_END_OF_STACK;
  }
  u.out->frames[u.out->depth++] = address;
  return _URC_NO_REASON;
}

}  // namespace

bool is_own_code(std::uintptr_t address) {
  return address >= reinterpret_cast<std::uintptr_t>(&__ehdr_start) &&
         address < reinterpret_cast<std::uintptr_t>(&_end);
}

void unwind_frames(call_frames& out, std::uint32_t depth) {
  out.depth = 0;
  out.is_cut = false;
  unwinding u{&out, std::min(depth, stack_depth_max)};
  _Unwind_Backtrace(&take_frame, &u);
}

void find_frames(call_frames& out, std::uint32_t depth) {
  if (!walk_frames(out, depth)) unwind_frames(out, depth);
}

}  // namespace ashlar::shim
