// tools/shim/process_exit.hpp: the status that a process ends with. Layer: shim.
#pragma once

namespace ashlar::shim {

/// Effects: the status of exit() will be told, as that of _exit() always is. Requires: open_spool() was called.
void watch_exit();

}  // namespace ashlar::shim
