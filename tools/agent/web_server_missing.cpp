// tools/agent/web_server_missing.cpp: in a build without cpp-httplib. Layer: agent.
#include "tools/agent/web_server.hpp"
#include "tools/files/error.hpp"

namespace ashlar::agent {

void serve(const server_options&) {
  throw files::command_error(
      files::status_failed,
      "this command was built without cpp-httplib, so it has no agent: install libcpp-httplib-dev "
      "(Debian), then build it again");
}

}  // namespace ashlar::agent
