// tools/control/process_socket.hpp: the control sockets of processes (docs/control-protocol.md).
// Layer: control.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sys/types.h>

namespace ashlar::control {

struct process_socket {
  pid_t pid = 0;  // 0: the path was given, and the process is not known before it is asked
  std::string path;

  // "process 4711", or the path.
  [[nodiscard]] std::string name() const;
};

// Returns: the sockets in this user's folders and where ASHLAR_CONTROL of this command says, by the
// number of the process. A process that was killed may have left one.
std::vector<process_socket> sockets_of_user();

// Returns: the same of all users, where this one is root; at most `most`. Another user's folder is
// looked at only if it is that user's, and no link.
std::vector<process_socket> sockets_of_all(std::size_t most);

// Returns: the socket of a process. Throws: command_error that says why there is none, and what
// helps.
process_socket socket_of(pid_t pid);

}  // namespace ashlar::control
