// tools/agent/connection_watch.cpp. Layer: agent.
#include "tools/agent/connection_watch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <sys/socket.h>

namespace ashlar::agent {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

std::uint16_t port_of(const sockaddr_storage& address) {
  // In both versions the port is at the same place.
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

// Returns: the client's port, of a connection to `port`; none: the descriptor is no such one.
std::optional<std::uint16_t> client_port(int descriptor, std::uint16_t port) {
  sockaddr_storage own{}, theirs{};
  socklen_t own_size = sizeof own, their_size = sizeof theirs;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      (own.ss_family != AF_INET && own.ss_family != AF_INET6) || port_of(own) != port ||
      ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&theirs), &their_size) != 0)
    return std::nullopt;
  return port_of(theirs);
}

// Effects: whoever has the descriptor is told that the connection is over, and closes it. Then the
// client is told so at once, also one that sends without reading.
void cut(int descriptor) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::shutdown(descriptor, SHUT_RDWR);
}

using connection = std::pair<int, std::uint16_t>;  // a descriptor, and the client's port

}  // namespace

std::uint64_t bytes_received(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0
             ? info.tcpi_bytes_received
             : 0;
}

connection_watch::connection_watch(std::uint16_t port)
    : thread_([this, port] {
        std::map<connection, clock::time_point> known;
        while (!must_end_.load()) {
          std::map<connection, clock::time_point> now;
          std::error_code failed;
          for (fs::directory_iterator each("/proc/self/fd", failed), end; each != end;
               each.increment(failed)) {
            const int descriptor = std::atoi(each->path().filename().c_str());
            const auto client = client_port(descriptor, port);
            if (!client) continue;
            const connection found{descriptor, *client};
            const auto before = known.find(found);
            now[found] = before != known.end() ? before->second : clock::now();
            const auto age = clock::now() - now[found];
            const std::uint64_t bytes = bytes_received(descriptor);
            if (age > std::chrono::seconds(seconds_max) || bytes > bytes_max ||
                (age > std::chrono::seconds(silent_seconds_max) && bytes == 0))
              cut(descriptor);
          }
          for (std::size_t more = now.size(); more > connections_max; --more) {
            const auto oldest = std::ranges::min_element(
                now, [](const auto& x, const auto& y) { return x.second < y.second; });
            cut(oldest->first.first);
            oldest->second = clock::time_point::max();  // it is gone when the list is made again
          }
          known.swap(now);
          std::this_thread::sleep_for(std::chrono::milliseconds(known.empty() ? 500 : 100));
        }
      }) {}

connection_watch::~connection_watch() {
  must_end_.store(true);
  thread_.join();
}

}  // namespace ashlar::agent
