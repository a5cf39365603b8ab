// A data logger without a heap. The timer's interrupt takes readings, and main sends them.
#include <atomic>
#include <cstdint>

#include <ashlar/freestanding.hpp>

#include "board.hpp"

struct reading {
  std::uint32_t number;
  reading* next;
};

// The interrupt handler takes blocks and main gives them back, so a call masks interrupts.
using interrupts = ashlar::interrupt_mask<ashlar::cortex_m_primask>;
constinit ashlar::static_pool<reading, 6, interrupts, ashlar::exhaustion::counted<>,
                              ashlar::named<"readings">>
    readings;
static_assert(ashlar::ram_bytes<readings> <= 128, "the logger's RAM");
ASHLAR_POOL_MAP(readings);

constinit std::atomic<reading*> waiting{nullptr};
constinit std::atomic<std::uint32_t> ticks{0};

extern "C" void timer_handler() {
  const std::uint32_t tick = ++ticks;
  if (reading* const r = readings.create(reading{tick, waiting})) waiting = r;
}

// The linker asks for this function: what the firmware does with a fault.
extern "C" void ashlar_fault(const ashlar::fault& what) noexcept {
  board::print("fault in ", what.pool, ": ", ashlar::describe(what.kind), "\n");
  board::exit(1);
}

int main() {
  board::start_timer();
  std::uint32_t sent = 0;
  for (std::uint32_t round = 1; round <= 5; ++round) {
    while (ticks < round * 8) board::wait_for_interrupt();
    for (reading* r = waiting.exchange(nullptr); r != nullptr; ++sent) {
      reading* const done = r;
      r = r->next;
      readings.destroy(done);
    }
  }
  const std::uint32_t refused = readings.exhaustion_policy_object().failure_count;
  const ashlar::pool_stats figures = readings.stats();
  board::print("sent ", sent, " of ", ticks, ", refused ", refused, "\n");
  board::print("at most ", figures.peak_in_use, " of ", figures.capacity, " blocks in use\n");
  return 0;
}
