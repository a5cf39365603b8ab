// How an image that knows no board begins, ends and masks interrupts on one: board/startup.cpp calls main.
#pragma once

#include "interrupts.hpp"
#include "semihosting.hpp"

extern "C" int image_main();

namespace platform {
[[noreturn]] inline void leave(int status) noexcept { board::exit(status); }
using one_core_lock = ashlar::interrupt_mask<board::interrupt_port>;
}  // namespace platform

int main() { return image_main(); }
