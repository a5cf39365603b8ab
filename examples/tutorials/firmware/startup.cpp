// What runs before main: the vector table, and static data from flash to RAM.
#include "board.hpp"

extern "C" {
extern std::uint32_t stack_top[], data_begin[], data_end[], bss_begin[], bss_end[];
extern const std::uint32_t data_in_flash[];
int run_main() asm("main");
void timer_handler();

void unexpected() {
  board::print("unexpected exception\n");
  board::exit(2);
}

void reset_handler() {
  const std::uint32_t* from = data_in_flash;
  for (volatile std::uint32_t* to = data_begin; to != data_end; ++to) *to = *from++;
  for (volatile std::uint32_t* to = bss_begin; to != bss_end; ++to) *to = 0;
  board::exit(run_main());
}
}

struct vector_table {
  const void* stack;
  void (*handlers[15])();
};
[[gnu::section(".vectors"), gnu::used]] constinit const vector_table vectors{
    stack_top,
    {reset_handler, unexpected, unexpected, unexpected, unexpected, unexpected, nullptr, nullptr,
     nullptr, nullptr, unexpected, unexpected, nullptr, unexpected, timer_handler}};
