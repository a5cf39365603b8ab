// os/machine_context.hpp: what a signal handler is told of the instruction that the signal
// interrupted.
// Layer: os. For access_fault_posix.cpp alone. One file per system implements it.
#pragma once

#include <ashlar/os/access_fault.hpp>

namespace ashlar::os {

/// Effects: stores the kind of the access and its instruction, as far as the machine tells.
/// `context` is the third argument of the handler.
void read_machine_context(const void* context, access_fault& fault) noexcept;

}  // namespace ashlar::os
