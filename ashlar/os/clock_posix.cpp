// os/clock_posix.cpp: os/clock.hpp by read_clock.
// Layer: os.
#include <ctime>

#include <ashlar/os/clock.hpp>
#include <ashlar/os/read_clock.hpp>

namespace ashlar::os {
namespace {

std::uint64_t read(clockid_t clock) noexcept {
  timespec t{};
  read_clock(clock, t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

std::uint64_t steady_ns() noexcept { return read(CLOCK_MONOTONIC); }
std::uint64_t date_ns() noexcept { return read(CLOCK_REALTIME); }

}  // namespace ashlar::os
