// os/signals_windows.cpp: os/signals.hpp where no process sends another a signal: none is known.
// Layer: os.
#include <ashlar/os/signals.hpp>

namespace ashlar::os {

int signal_number(const char*) noexcept {
  return 0;
}
bool handle_signal(int, void (*)(int)) noexcept {
  return false;
}

}  // namespace ashlar::os
