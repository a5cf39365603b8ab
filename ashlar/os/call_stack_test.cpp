// Where a call came from: the caller's frame comes first, whatever finds it.
// Needs Linux.
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/os/call_stack.hpp>

namespace {

using namespace ashlar;

[[gnu::noinline]] void capture_here(os::call_stack& stack) {
  os::capture(stack, os::call_stack::depth_max);
  __asm__ volatile("" ::: "memory");  // the call is not the last one
}
[[gnu::noinline]] unsigned capture_frames_here(const void** frames, unsigned room) {
  const unsigned depth = os::capture_frames(frames, room);
  __asm__ volatile("" ::: "memory");
  return depth;
}

/// Returns: how far behind the function's begin the address is.
template <class Function>
std::uintptr_t behind(Function* function, const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(function);
}
constexpr std::uintptr_t function_bytes_max = 512;

TEST(CallStack, BeginsAtTheCaller) {
  os::call_stack stack;
  capture_here(stack);
  ASSERT_GT(stack.depth, 3u);
  EXPECT_LT(behind(&capture_here, stack.frames[0]), function_bytes_max);
  const void* frames[os::frames_max];
  ASSERT_GT(capture_frames_here(frames, os::frames_max), 3u);
  EXPECT_LT(behind(&capture_frames_here, frames[0]), function_bytes_max);
}

TEST(CallStack, HasAsManyFramesAsAreWanted) {
  os::call_stack stack;
  os::capture(stack, 2);
  EXPECT_EQ(stack.depth, 2u);
  os::capture(stack, 0);
  EXPECT_EQ(stack.depth, 0u);
}

}  // namespace
