// tools/agent/web_server.hpp: the agent itself. Layer: agent.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ashlar::agent {

struct server_options {
  std::string address = "127.0.0.1";  // a number, of IP version 4 or 6
  std::uint16_t port = 0;             // 0: any that is free
  std::string token;                  // whoever asks has to have it; empty: nobody has
  std::string push;                   // where profiles go (pusher.hpp); empty: nowhere
  std::chrono::seconds push_every{60};
  std::string record_library;  // libashlar-record.so; empty: it is not there
};

// Effects: serves HTTP at the address, and says on standard output where, until SIGINT or SIGTERM,
// which the calling thread and its children block from now on. Throws: command_error that says in
// one sentence why it cannot. Requires: no other thread yet.
void serve(const server_options& options);

}  // namespace ashlar::agent
