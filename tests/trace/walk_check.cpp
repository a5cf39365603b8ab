// Preloaded: finds the calls that lead to each malloc of a program both ways, by the recorder's rules and by the compiler's
// runtime, and compares them. At the end it tells how many there were.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

#include <ashlar/os/code_file.hpp>
#include <ashlar/os/frame_walk.hpp>

#include "tools/shim/stacks.hpp"

namespace {

using namespace ashlar::shim;
namespace os = ashlar::os;

std::atomic<long> by_rules{0};
std::atomic<long> by_runtime{0};
std::atomic<long> different{0};
void* (*next_malloc)(std::size_t) = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool comparing = false;

void print(const char* name, const call_frames& frames) {
  ::dprintf(STDERR_FILENO, "%s:", name);
  for (std::uint32_t i = 0; i < frames.depth; ++i)
    ::dprintf(STDERR_FILENO, " %p", frames.frames[i]);
  ::dprintf(STDERR_FILENO, "\n");
}

void compare() {
  call_frames walked;
  call_frames unwound;
  const os::walk_result result = os::walk_frames(walked.frames, stack_depth_max);
  if (result.end == os::walk_end::unknown) {
    by_runtime.fetch_add(1);
    return;
  }
  walked.depth = result.depth;
  walked.is_cut = result.end == os::walk_end::full;
  by_rules.fetch_add(1);
  unwind_frames(unwound, stack_depth_max);
  if (walked.is_cut == unwound.is_cut && std::equal(walked.frames, walked.frames + walked.depth,
                                                    unwound.frames, unwound.frames + unwound.depth))
    return;
  constexpr long printed_max = 3;
  if (different.fetch_add(1) >= printed_max) return;
  print("by rules  ", walked);
  print("by runtime", unwound);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] void* malloc(std::size_t size) noexcept {
  if (next_malloc == nullptr) {
    next_malloc = reinterpret_cast<void* (*)(std::size_t)>(::dlsym(RTLD_NEXT, "malloc"));
    os::note_first_files();
  }
  void* const block = next_malloc(size);
  if (!comparing) {
    comparing = true;
    compare();
    comparing = false;
  }
  return block;
}

[[gnu::destructor]] static void tell() {
  comparing = true;
  ::dprintf(STDERR_FILENO, "walk check: %ld by rules, %ld by the runtime, %ld different\n",
            by_rules.load(), by_runtime.load(), different.load());
}
