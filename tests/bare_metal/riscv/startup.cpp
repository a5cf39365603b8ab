// What runs before main on RISC-V in machine mode: the stack, .bss, and where traps go.
#include <cstdint>

#include "board/semihosting.hpp"

extern "C" {
extern std::uint32_t board_bss_begin[];
extern std::uint32_t board_bss_end[];

int image_entry() asm("main");  // C++ lets nobody call main by its name

/// A trap that an image does not handle ends it. The address of a handler is a multiple of 4.
[[gnu::weak, gnu::aligned(4), noreturn]] void trap_handler() noexcept {
  board::write("unhandled trap\n");
  board::exit(126);
}

// -fno-tree-loop-distribute-patterns: the loop may not become a call of a function that an image need not have.
[[gnu::used, gnu::optimize("no-tree-loop-distribute-patterns"), noreturn]] void
run_image() noexcept {
  for (std::uint32_t* to = board_bss_begin; to != board_bss_end; ++to) *to = 0;
  asm volatile("csrw mtvec, %0" ::"r"(trap_handler));
  board::exit(image_entry());
}

[[gnu::naked, gnu::used, gnu::section(".entry")]] void entry() noexcept {
  asm volatile("la sp, board_stack_top\n\tj run_image");
}
}
