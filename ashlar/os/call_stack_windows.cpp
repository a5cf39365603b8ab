// os/call_stack_windows.cpp: os/call_stack.hpp by the system's unwinder. Functions have no names
// here: those of a program are in its debug information.
// Layer: os.
#include <algorithm>

#include <ashlar/os/call_stack.hpp>
#include <ashlar/os/loaded_module.hpp>
#include <ashlar/os/thread_words.hpp>
#include <ashlar/os/windows.hpp>

namespace ashlar::os {

constinit thread_local thread_words own_words;

namespace {
constexpr ULONG own_frames = 2;  // capture and the one that it calls

unsigned unwind(call_stack& out, unsigned depth, ULONG skipped) noexcept {
  void* frames[call_stack::depth_max];
  const unsigned found = ::RtlCaptureStackBackTrace(
      skipped, std::min(depth, call_stack::depth_max - out.depth), frames, nullptr);
  for (unsigned i = 0; i < found; ++i) out.frames[out.depth++] = frames[i];
  return found;
}
}  // namespace

void capture(call_stack& out, unsigned depth) noexcept {
  out.depth = 0;
  static_cast<void>(unwind(out, depth, own_frames));
}

void prepare_to_capture() noexcept {}

void capture_interrupted(call_stack& out, unsigned depth, const void* interrupted) noexcept {
  out.depth = 0;
  if (interrupted == nullptr || depth == 0) return;
  out.frames[out.depth++] = interrupted;
}

frame_place place_of(const void* frame) noexcept {
  const error_keeper keeper;
  const auto* const begin = static_cast<const char*>(module_around(frame).begin);
  thread_local char path[MAX_PATH];
  const auto module = reinterpret_cast<HMODULE>(const_cast<char*>(begin));
  if (begin == nullptr || ::GetModuleFileNameA(module, path, sizeof path) == 0) return {};
  return {path, static_cast<std::size_t>(static_cast<const char*>(frame) - begin), nullptr};
}

std::size_t thread_number() noexcept { return ::GetCurrentThreadId(); }
void note_fork_child() noexcept {}

}  // namespace ashlar::os
