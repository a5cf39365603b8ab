// lifetime/plugin.hpp: what a plugin offers: the functions of the copy of ashlar that it brings.
#pragma once

#include <cstddef>

struct plugin_face {
  void* (*allocate)(std::size_t size);
  void (*release)(void* block);
  std::size_t (*trim)();
};

extern "C" [[gnu::visibility("default")]] const plugin_face* plugin();
using plugin_entry = const plugin_face*();
