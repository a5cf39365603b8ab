// os/control_socket_none.cpp: os/control_socket.hpp where there is none: Windows and macOS.
// Layer: os.
#include <cerrno>

#include <ashlar/os/control_socket.hpp>

namespace ashlar::os {

control_socket::opening control_socket::open(const control_place&) noexcept {
  return {ENOTSUP, "there is a control socket on Linux alone"};
}
void control_socket::serve(control_handler, const std::atomic<bool>&) noexcept {}
void control_socket::wake() noexcept {}
void control_socket::remove_name() noexcept {}
void let_trace(std::size_t) noexcept {}

}  // namespace ashlar::os
