// os/linux_alone_none.cpp: what other systems do not have: each of these says so.
// Layer: os.
#include <cerrno>

#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/control_socket.hpp>
#include <ashlar/os/memory_pressure.hpp>

namespace ashlar::os {

// ---- os/call_filter.hpp for systems whose sandboxes refuse and do not kill.

void note_call_filters() noexcept {}
bool has_new_call_filter() noexcept { return false; }
bool is_in_sandbox() noexcept { return false; }

// ---- os/control_socket.hpp

control_socket::opening control_socket::open(const control_place&) noexcept {
  return {ENOTSUP, "there is a control socket on Linux alone"};
}
void control_socket::serve(control_handler, const std::atomic<bool>&) noexcept {}
void control_socket::wake() noexcept {}
void control_socket::remove_name() noexcept {}
void let_trace(std::size_t) noexcept {}

// ---- os/memory_pressure.hpp where there are no control groups: nothing is told.

memory_group::memory_group(const char*) noexcept {
  static_cast<void>(version_);
  static_cast<void>(mount_length_);
}

std::uint64_t memory_group::hard_limit() const noexcept { return UINT64_MAX; }

bool memory_group::read(memory_pressure&) const noexcept { return false; }

}  // namespace ashlar::os
