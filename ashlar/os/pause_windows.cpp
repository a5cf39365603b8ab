// os/pause_windows.cpp: os/pause.hpp by Sleep: whole milliseconds, else the rest of a time slice.
// Layer: os.
#include <ashlar/os/pause.hpp>
#include <ashlar/os/windows.hpp>

namespace ashlar::os {

void pause_us(unsigned microseconds) noexcept {
  const error_keeper keeper;
  ::Sleep(microseconds < 1000 ? 0 : microseconds / 1000);
}

}  // namespace ashlar::os
