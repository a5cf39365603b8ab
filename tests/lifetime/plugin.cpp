// A library that is loaded and unloaded while the program runs; CMakeLists.txt builds it over the
// shared libashlar and, several times, with a hidden copy of its own.
#include <tests/lifetime/plugin.hpp>

#include <ashlar/ashlar.h>

namespace {
constexpr plugin_face own = {xmalloc, xfree, ashlar_trim};
}

const plugin_face* plugin() { return &own; }
