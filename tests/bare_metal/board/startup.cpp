// What runs before main on a Cortex-M: the vector table, .data and .bss. Static constructors run only where the image has
// board/cxx_support.cpp: of what is here none is needed, and the linker script says so where there is one.
#include <cstdint>

#include "semihosting.hpp"

extern "C" {
extern std::uint32_t board_stack_top[];
extern std::uint32_t board_data_begin[];
extern std::uint32_t board_data_end[];
extern const std::uint32_t board_data_in_flash[];
extern std::uint32_t board_bss_begin[];
extern std::uint32_t board_bss_end[];

int image_entry() asm("main");  // C++ lets nobody call main by its name
[[gnu::weak]] void board_run_constructors() noexcept;
[[noreturn]] void reset_handler() noexcept;

/// An exception that an image does not handle ends it.
[[noreturn]] void unhandled() noexcept {
  board::write("unhandled exception\n");
  board::exit(126);
}
[[gnu::weak]] void sys_tick_handler() noexcept { unhandled(); }
[[gnu::weak]] void pend_sv_handler() noexcept { unhandled(); }
}

namespace {

using handler = void (*)();

struct vector_table {
  const void* stack_top;
  handler handlers[15];
};

[[gnu::section(".vectors"), gnu::used]] constinit const vector_table vectors{
    board_stack_top,
    {reset_handler, unhandled, unhandled, unhandled, unhandled, unhandled, nullptr, nullptr,
     nullptr, nullptr, unhandled, unhandled, nullptr, pend_sv_handler, sys_tick_handler}};

}  // namespace

// -fno-tree-loop-distribute-patterns: these loops may not become calls of functions that an image need not have.
[[gnu::optimize("no-tree-loop-distribute-patterns")]] void reset_handler() noexcept {
  const std::uint32_t* from = board_data_in_flash;
  for (std::uint32_t* to = board_data_begin; to != board_data_end; ++to) *to = *from++;
  for (std::uint32_t* to = board_bss_begin; to != board_bss_end; ++to) *to = 0;
  if (board_run_constructors != nullptr) board_run_constructors();
  board::exit(image_entry());
}
