// Instructions of a call of a pool that is recorded, by the size of the recorder's frame. Most calls put some bytes in
// columns; one in some dozens finds the frame full, and puts it together. Prints a row for each and ends with 0 if no
// event was lost.
#include <cstddef>
#include <cstdint>

#include <ashlar/freestanding.hpp>

#include "board/semihosting.hpp"
#include "call_pattern.hpp"
#include "figures_report.hpp"

namespace {

using namespace ashlar;
using figures_report::block;
inline constexpr std::size_t capacity = 32;

/// Takes all and keeps nothing: what is measured is the recorder's own.
template <int Which>
struct counting_port {
  static constexpr std::uint32_t ticks_per_second = 1000;
  static inline std::uint32_t bytes = 0;
  static inline std::uint32_t frames = 0;
  static inline std::uint32_t ticks = 0;
  static std::uint32_t now() noexcept { return ticks += 3; }
  static bool write(const std::byte*, std::size_t count) noexcept {
    bytes += static_cast<std::uint32_t>(count);
    ++frames;
    return true;
  }
};

template <int Which, std::size_t FrameBytes, class Lock>
using recorder_of =
    trace_recorder<counting_port<Which>, Lock, trace_limits{.frame_bytes = FrameBytes}>;
using interrupts = interrupt_mask<cortex_m_primask>;

constinit recorder_of<0, 256, no_lock> frames_of_256;
constinit recorder_of<1, 1024, no_lock> frames_of_1024;
constinit recorder_of<2, 4096, no_lock> frames_of_4096;
constinit recorder_of<3, 1024, interrupts> masked_frames;

constinit static_pool<block, capacity, recording::to<frames_of_256>> pool_of_256;
constinit static_pool<block, capacity, recording::to<frames_of_1024>> pool_of_1024;
constinit static_pool<block, capacity, recording::to<frames_of_4096>> pool_of_4096;
constinit static_pool<block, capacity, recording::to<masked_frames>, interrupts> masked_pool;

template <auto& Pool>
void* allocate(void*, void*, void*) {
  return Pool.allocate();
}
template <auto& Pool>
void deallocate(void*, void* p, void*) {
  Pool.deallocate(p);
}

/// recorded|name|allocate: least|mean|most|free: least|mean|most|bytes|events
template <auto& Recorder, class Port, auto& Pool>
void measure(const char* name) noexcept {
  using namespace figures_report;
  const bool begun = Recorder.begin("recording_time");
  const std::uint32_t head_bytes = Port::bytes;
  call_pattern::figures f =
      call_pattern::run({allocate<Pool>, deallocate<Pool>, nullptr, true}, capacity, one_size)
          .all();
  expect(begun && Recorder.end(), name, "the trace has no end");
  expect(f.is_right, name, "a block was refused, handed out twice, or changed");
  expect(Recorder.lost() == 0, name, "events were lost");
  expect(Port::frames > 10, name, "too few frames were written to mean anything");
  board::write_all("recorded|", name);
  write(f.allocation);
  write(f.free);
  const std::uint32_t events =
      f.first_use.calls + f.allocation.calls + f.refusal.calls + f.free.calls;
  board::write_all("|", Port::bytes - head_bytes, "|", events, "\n");
}

}  // namespace

extern "C" void ashlar_fault(const ashlar::fault& what) noexcept {
  board::write_all("fault: ", describe(what.kind), "\n");
  board::exit(100);
}

int main() {
  figures_report::require_calibrated_counter();
  measure<frames_of_256, counting_port<0>, pool_of_256>("frames of 256 bytes");
  measure<frames_of_1024, counting_port<1>, pool_of_1024>("frames of 1024 bytes");
  measure<frames_of_4096, counting_port<2>, pool_of_4096>("frames of 4096 bytes");
  measure<masked_frames, counting_port<3>, masked_pool>("frames of 1024 bytes, interrupts masked");
  return figures_report::all_good ? 0 : 1;
}
