// tools/control/request.hpp: asks processes through their control sockets. Layer: control.
#pragma once

#include <chrono>
#include <cstddef>
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
  too_long,       // the answer has more bytes than were wanted
};

struct answer {
  outcome how = outcome::silent;
  std::string text;
  pid_t from = 0;  // the process that listens, as the system says; 0: it does not know one
};

// What a process that answers late, never or without end may cost whoever asks.
struct bounds {
  std::chrono::milliseconds each;             // for one answer
  std::chrono::milliseconds all;              // for all of them
  std::size_t bytes = std::size_t{64} << 20;  // of one answer
  std::size_t at_once = 64;                   // connections
};

// Effects: sends the request to all of them, to `at_once` at a time, and waits for the answers.
// Returns: an answer for each. It takes no longer than `all`, and its memory is at most `bytes` for
// each process.
std::vector<answer> ask_all(const std::vector<process_socket>& sockets, const std::string& request,
                            const bounds& limits);

// Returns: the text of the answer. Throws: command_error that says what went wrong, and what helps.
std::string ask(const process_socket& socket, const std::string& request,
                std::chrono::milliseconds limit);

}  // namespace ashlar::control
