// Firmware without a heap: a radio whose interrupt handler shares a pool with main, buffers of several sizes, an arena for
// one frame; and the RAM that all of it takes, looked at by the compiler. Runs on an STM32F405 or under qemu.
#include <cstddef>
#include <cstdint>

#include <ashlar/freestanding.hpp>

#include "board/semihosting.hpp"

namespace {

struct message {
  std::uint32_t id;
  std::uint8_t bytes[60];
};

using interrupts = ashlar::interrupt_mask<ashlar::cortex_m_primask>;
using ashlar::named;

// Zero bits until they are used: they are in .bss, ready before main, and no constructor runs.
constinit ashlar::static_pool<message, 16, interrupts, ashlar::exhaustion::counted<>,
                              named<"messages">>
    messages;
constinit ashlar::static_pool_set<ashlar::blocks<32, 8>, ashlar::blocks<128, 4>,
                                  ashlar::blocks<396, 2>, ashlar::spill::never, named<"buffers">>
    buffers;
constinit ashlar::static_arena<512, ashlar::at_death::ignore> frame;

static_assert(ashlar::ram_bytes<messages, buffers, frame> <= 4096, "the radio's RAM");

ASHLAR_POOL_MAP(messages);
ASHLAR_POOL_MAP(buffers);
ASHLAR_POOL_MAP(frame);

// Too many at once: the last ones are refused, and counted.
std::uint32_t receive_burst(message** into, std::uint32_t count) {
  std::uint32_t received = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    message* const m = messages.create(message{i, {}});
    if (m != nullptr) into[received++] = m;
  }
  return received;
}

}  // namespace

// What the firmware does with a misuse or an exhausted pool whose policy is `stop`: tell whom it may concern, and reset.
extern "C" void ashlar_fault(const ashlar::fault& what) noexcept {
  board::write_all("fault in ", what.pool != nullptr ? what.pool : "a pool", ": ",
                   ashlar::describe(what.kind), "\n");
  board::exit(1);
}

int main() {
  message* burst[20];
  const std::uint32_t received = receive_burst(burst, 20);
  board::write_all("received ", received, " of 20, refused ",
                   std::uint32_t{messages.exhaustion_policy_object().failure_count}, "\n");
  for (std::uint32_t i = 0; i < received; ++i) messages.destroy(burst[i]);

  void* const packet = buffers.allocate(100);
  board::write_all("a buffer of ", std::uint32_t{buffers.usable_size(packet)}, " bytes\n");
  buffers.deallocate(packet, 100);
  {
    const ashlar::arena_scope scratch(frame);
    auto* const samples = frame.create_array<std::uint16_t>(100);
    samples[99] = 1;
    board::write_all("a frame of ", std::uint32_t{frame.used_bytes()}, " bytes\n");
  }
  const auto figures = messages.stats();
  board::write_all("messages: ", std::uint32_t{figures.blocks_in_use}, " in use, at most ",
                   std::uint32_t{figures.peak_in_use}, " of ", std::uint32_t{figures.capacity},
                   "\n");
  return 0;
}
