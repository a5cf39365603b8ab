// runtime/last_thread.cpp: the thread that sees that it is the last one.
// Layer: runtime.
#include <algorithm>

#include <ashlar/os/process.hpp>
#include <ashlar/runtime/background.hpp>
#include <ashlar/runtime/control.hpp>
#include <ashlar/runtime/last_thread.hpp>

namespace ashlar::runtime {

constinit last_thread the_last_thread;

void last_thread::start_if_needed() noexcept {
  if (!is_seen(nullptr) || change(state::ending, state::present)) return;
  if (change(state::absent, state::present) && !thread_.start())
    state_.store(state::absent, std::memory_order_release);
}

void last_thread::stop() noexcept {
  if (change(state::present, state::ending)) bell_.ring();
}

bool last_thread::wait() noexcept {
  constexpr std::int64_t nap_ms_min = 50, nap_ms_max = 4'000;
  last_thread& own = the_last_thread;
  // A thread that was not seen to end has ended soon, so each nap is longer than the last.
  for (std::int64_t nap_ms = nap_ms_min;; nap_ms = std::min(2 * nap_ms, nap_ms_max)) {
    own.bell_.wait(nap_ms);
    if (own.change(state::ending, state::absent)) return false;
    const unsigned services =
        unsigned{the_background.is_running()} + unsigned{the_control.is_running()};
    if (os::are_last_threads(services + 1) && own.change(state::present, state::absent))
      return true;
  }
}

void last_thread::end_services() noexcept {
  the_background.stop();
  the_control.stop();
}

}  // namespace ashlar::runtime
