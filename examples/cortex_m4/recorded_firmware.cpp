// Firmware that records its pools: a radio's interrupt handler takes messages, main answers them from buffers of
// several sizes and gives all back. How many blocks that needs nobody knows yet, so the capacities are generous; the
// trace tells.
//
//   $ ashlar report --text firmware.atrace
//   $ ashlar tune --align 8 -o pools.hpp firmware.atrace
//
// The trace goes to a file of the host, by semihosting; on a board it may be a UART, pages of flash or a debugger's
// channel.
#include <cstddef>
#include <cstdint>

#include <ashlar/freestanding.hpp>

#include "board/host_file.hpp"
#include "board/semihosting.hpp"

namespace {

struct message {
  std::uint32_t id;
  std::uint8_t bytes[60];
};

volatile std::uint32_t milliseconds = 0;
constinit board::host_file trace_file;

/// What the recorder asks of the board.
struct board_port {
  static constexpr std::uint32_t ticks_per_second = 1000;
  static std::uint32_t now() noexcept { return milliseconds; }
  static bool write(const std::byte* bytes, std::size_t count) noexcept {
    return trace_file.write(bytes, count);
  }
  /// Main is 1, and all handlers are 2.
  static std::uint32_t thread() noexcept {
    std::uint32_t exception = 0;
    asm volatile("mrs %0, ipsr" : "=r"(exception));
    return exception == 0 ? 1 : 2;
  }
};

using interrupts = ashlar::interrupt_mask<ashlar::cortex_m_primask>;
using ashlar::named;
inline constexpr std::size_t most_messages = 32;

constinit ashlar::trace_recorder<board_port, interrupts,
                                 ashlar::trace_limits{.frame_bytes = 512, .threads = 2, .pools = 2}>
    recorder;
constinit ashlar::static_pool<message, most_messages, interrupts, named<"messages">,
                              ashlar::recording::to<recorder>>
    messages;
constinit ashlar::static_pool_set<ashlar::blocks<64, 16>, ashlar::blocks<256, 8>,
                                  ashlar::blocks<1024, 4>, named<"buffers">,
                                  ashlar::recording::to<recorder>>
    buffers;

ASHLAR_POOL_MAP(recorder);
ASHLAR_POOL_MAP(messages);
ASHLAR_POOL_MAP(buffers);

constinit message* received[most_messages] = {};
constinit std::uint32_t received_count = 0;

void start_clock() noexcept {
  volatile std::uint32_t* const sys_tick = reinterpret_cast<std::uint32_t*>(0xE000E010);
  constexpr std::uint32_t processor_hz = 168'000'000;
  sys_tick[1] = processor_hz / board_port::ticks_per_second - 1;
  sys_tick[2] = 0;
  sys_tick[0] = 0b111;
}

/// As if the radio had received something: its handler runs before this returns.
void receive() noexcept {
  *reinterpret_cast<volatile std::uint32_t*>(0xE000ED04) = std::uint32_t{1} << 28;
  asm volatile("dsb\n\tisb" ::: "memory");
}

/// A header for each of three, a page for each of two, an image.
void answer() noexcept {
  static constexpr std::size_t sizes[] = {40, 40, 40, 200, 200, 600};
  void* parts[6];
  for (int i = 0; i < 6; ++i) parts[i] = buffers.allocate(sizes[i], 8);
  for (int i = 0; i < 6; ++i) buffers.deallocate(parts[i], sizes[i], 8);
}

}  // namespace

extern "C" void sys_tick_handler() noexcept { milliseconds = milliseconds + 1; }
extern "C" void pend_sv_handler() noexcept {
  received[received_count] = messages.create(message{received_count, {}});
  ++received_count;
}
extern "C" void ashlar_fault(const ashlar::fault& what) noexcept {
  board::write_all("fault: ", ashlar::describe(what.kind), "\n");
  board::exit(1);
}

int main() {
  start_clock();
  if (!trace_file.open("firmware.atrace") || !recorder.begin("recorded_firmware")) {
    board::write("no trace can be written\n");
    return 1;
  }
  for (std::uint32_t round = 0; round < 20; ++round) {
    for (std::uint32_t burst = 1; burst <= 9; ++burst) {
      for (std::uint32_t i = 0; i < burst; ++i) receive();
      answer();
      while (received_count != 0) messages.destroy(received[--received_count]);
    }
    recorder.flush();  // a quiet moment
  }
  const bool is_whole = recorder.end();
  trace_file.close();
  board::write_all("lost ", std::uint32_t{recorder.lost()}, " events, ",
                   is_whole ? "the trace is whole\n" : "the trace has no end\n");
  board::write_all("messages: at most ", std::uint32_t{messages.stats().peak_in_use}, "\n");
  return is_whole ? 0 : 1;
}
