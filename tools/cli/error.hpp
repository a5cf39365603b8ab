// tools/cli/error.hpp: how a command gives up (tools/files/error.hpp), by the command's own names.
// Layer: cli.
#pragma once

#include "tools/files/error.hpp"

namespace ashlar::cli {

using files::command_error;
using files::fail_beside;
using files::input_error;
using files::reason_of;
using files::status_failed;
using files::status_not_executable;
using files::status_not_found;
using files::status_usage;

}  // namespace ashlar::cli
