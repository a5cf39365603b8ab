// tools/control/request.hpp: asks processes through their control sockets. Layer: control.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tools/control/process_socket.hpp"

namespace ashlar::control {

enum class outcome {
  done,           // the text is the answer
  refused,        // the text says why the process could not do it
  not_served,     // a socket is there, and nobody listens
  not_trusted,    // somebody else listens
  silent,         // no answer in time
  broken,         // the process ended in the middle, or the connection did
  other_version,  // the text is the version
  not_ashlar,     // what came is no answer
};

struct answer {
  outcome how = outcome::silent;
  std::string text;
};

// Effects: sends the request to all of them at once, and waits for all answers, until `limit` at
// most. Returns: an answer for each.
std::vector<answer> ask_all(const std::vector<process_socket>& sockets, const std::string& request,
                            std::chrono::milliseconds limit);

// Returns: the text of the answer. Throws: command_error that says what went wrong, and what helps.
std::string ask(const process_socket& socket, const std::string& request,
                std::chrono::milliseconds limit);

}  // namespace ashlar::control
