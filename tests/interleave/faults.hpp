// interleave/faults.hpp: faults that ashlar reports in an execution.
#pragma once

namespace interleave {

/// How many since the test set it to 0. A thread that reports one ends there, as a process would.
extern int faults;

}  // namespace interleave
