// tools/agent/connection_watch.hpp: no connection lasts long, sends much, or is one of too many.
// Layer: agent.
//
// The HTTP library bounds each wait for bytes, and not their sum: a client that sends a byte a
// second would keep a thread for hours. So a thread looks at the connections themselves, and cuts
// those that are beyond a bound.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace ashlar::agent {

// Returns: how many bytes have come over a TCP connection; 0: the system does not say.
[[nodiscard]] std::uint64_t bytes_received(int descriptor);

class connection_watch {
 public:
  static constexpr int seconds_max = 30;
  static constexpr int silent_seconds_max = 3;           // without a byte of a request
  static constexpr std::uint64_t bytes_max = 64 * 1024;  // from the client
  static constexpr std::size_t connections_max = 64;

  // Effects: watches this process's TCP connections of that port, while it lives.
  explicit connection_watch(std::uint16_t port);
  ~connection_watch();
  connection_watch(const connection_watch&) = delete;
  connection_watch& operator=(const connection_watch&) = delete;

 private:
  std::atomic<bool> must_end_{false};
  std::thread thread_;
};

}  // namespace ashlar::agent
