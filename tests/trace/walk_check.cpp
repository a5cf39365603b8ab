// Preloaded: finds the calls that lead to each malloc of a program both ways, by the recorder's rules and by the compiler's
// runtime, and compares them. At the end it tells how many there were.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

#include "tools/shim/call_frames.hpp"
#include "tools/shim/loaded_module.hpp"

namespace {

using namespace ashlar::shim;

std::atomic<long> by_rules{0};
std::atomic<long> by_runtime{0};
std::atomic<long> different{0};
void* (*next_malloc)(std::size_t) = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool comparing = false;

void print(const char* name, const call_frames& frames) {
  ::dprintf(STDERR_FILENO, "%s:", name);
  for (std::uint32_t i = 0; i < frames.depth; ++i)
    ::dprintf(STDERR_FILENO, " %#llx", static_cast<unsigned long long>(frames.frames[i]));
  ::dprintf(STDERR_FILENO, "\n");
}

void compare() {
  call_frames walked;
  call_frames unwound;
  if (!walk_frames(walked, stack_depth_max)) {
    by_runtime.fetch_add(1);
    return;
  }
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
    note_first_modules();
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
