// What a recorder and a pool that it records take of flash and RAM, and the pool without it: linked alone (report.py).
#include <cstddef>
#include <cstdint>

#include <ashlar/freestanding.hpp>

using namespace ashlar;

namespace {

struct block {
  std::uint32_t words[12];
};

[[noreturn]] void stop() noexcept {
  for (;;) {
  }
}

/// As small as a port can be: two registers of a device.
struct device {
  static constexpr std::uint32_t ticks_per_second = 1'000'000;
  static std::uint32_t now() noexcept {
    return *reinterpret_cast<const volatile std::uint32_t*>(0x40000024);
  }
  static bool write(const std::byte* bytes, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i)
      *reinterpret_cast<volatile std::uint8_t*>(0x40004404) =
          std::to_integer<std::uint8_t>(bytes[i]);
    return true;
  }
};

}  // namespace

extern "C" void ashlar_fault(const ashlar::fault&) noexcept { stop(); }

constinit trace_recorder<device, no_lock, trace_limits{.frame_bytes = 512}> recorder;
constinit static_pool<block, 32, recording::to<recorder>> recorded_pool_object;
constinit static_pool<block, 32> unrecorded_pool_object;
// What is on costs the pool no byte: all of it is the recorder's.
static_assert(sizeof(recorded_pool_object) == sizeof(unrecorded_pool_object));

extern "C" {
void* recorded_allocate() noexcept { return recorded_pool_object.allocate(); }
void recorded_deallocate(void* p) noexcept { recorded_pool_object.deallocate(p); }
void* unrecorded_allocate() noexcept { return unrecorded_pool_object.allocate(); }
void unrecorded_deallocate(void* p) noexcept { unrecorded_pool_object.deallocate(p); }
bool recorder_begin() noexcept { return recorder.begin("firmware"); }
bool recorder_end() noexcept { return recorder.end(); }
}
