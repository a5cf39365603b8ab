// Where a call came from: the caller's frame comes first, whatever finds it.
// Needs Linux.
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/os/call_stack.hpp>

namespace {

using namespace ashlar;

/// Returns: the address of code, without Thumb's mark in its lowest bit.
const void* code_at(const void* address) {
#ifdef __thumb__
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(address) &
                                       ~std::uintptr_t{1});
#else
  return address;
#endif
}

/// Returns: where it returns to, which is the second frame if its own is the first.
[[gnu::noinline]] const void* capture_here(os::call_stack& stack) {
  os::capture(stack, os::call_stack::depth_max);
  return __builtin_return_address(0);
}
[[gnu::noinline]] const void* capture_frames_here(const void** frames, unsigned& depth) {
  depth = os::capture_frames(frames, os::frames_max);
  return __builtin_return_address(0);
}

TEST(CallStack, BeginsAtTheCaller) {
  os::call_stack stack;
  const void* const behind = capture_here(stack);
  ASSERT_GT(stack.depth, 3u);
  EXPECT_EQ(stack.frames[1], code_at(behind));
  const void* frames[os::frames_max];
  unsigned depth = 0;
  const void* const behind_frames = capture_frames_here(frames, depth);
  ASSERT_GT(depth, 3u);
  EXPECT_EQ(frames[1], code_at(behind_frames));
}

TEST(CallStack, HasAsManyFramesAsAreWanted) {
  os::call_stack stack;
  os::capture(stack, 2);
  EXPECT_EQ(stack.depth, 2u);
  os::capture(stack, 0);
  EXPECT_EQ(stack.depth, 0u);
}

}  // namespace
