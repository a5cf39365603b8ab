// How an image begins and ends, under WASI.
#pragma once

#include <cstdlib>

#include <ashlar/core/lock_policy.hpp>

extern "C" int image_main();

namespace platform {
[[noreturn]] inline void leave(int status) noexcept { std::_Exit(status); }
using one_core_lock = ashlar::no_lock;
}  // namespace platform

int main() { return image_main(); }
