// interleave/model_threads.hpp: whether the process of the model has one thread, in the place of what the C library says.
// To be included behind model_std.hpp, before any header of ashlar, in every source that has a lock of ashlar/os.
#pragma once

#include <sys/single_threaded.h>

namespace interleave {
/// Not watched by the scheduler: the one thread that is there changes it.
extern char single_threaded;
}  // namespace interleave

#define __libc_single_threaded interleave::single_threaded  // NOLINT
#include <ashlar/os/single_thread.hpp>
#undef __libc_single_threaded
