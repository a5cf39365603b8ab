// os/clock_windows.cpp: os/clock.hpp by the performance counter and the system's date.
// Layer: os.
#include <ashlar/os/clock.hpp>
#include <ashlar/os/windows.hpp>

namespace ashlar::os {

constexpr std::uint64_t ns_a_second = 1'000'000'000;

std::uint64_t steady_ns() noexcept {
  LARGE_INTEGER rate{}, now{};
  ::QueryPerformanceFrequency(&rate);
  ::QueryPerformanceCounter(&now);
  const auto a_second = static_cast<std::uint64_t>(rate.QuadPart);
  const auto ticks = static_cast<std::uint64_t>(now.QuadPart);
  return ticks / a_second * ns_a_second + ticks % a_second * ns_a_second / a_second;
}

std::uint64_t date_ns() noexcept {
  constexpr std::uint64_t from_1601_to_1970 = 11'644'473'600;  // seconds
  FILETIME t{};
  ::GetSystemTimePreciseAsFileTime(&t);
  const std::uint64_t of_100_ns = std::uint64_t{t.dwHighDateTime} << 32 | t.dwLowDateTime;
  return of_100_ns * 100 - from_1601_to_1970 * ns_a_second;
}

}  // namespace ashlar::os
