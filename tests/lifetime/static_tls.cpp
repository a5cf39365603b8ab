// Loads each library that it is told, and uses the last one: a plugin (plugin.hpp).
#include <cstdio>
#include <tests/lifetime/plugin.hpp>

#include <dlfcn.h>

int main(int, char** arguments) {
  void* library = nullptr;
  for (char** path = arguments + 1; *path != nullptr; ++path) {
    library = ::dlopen(*path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::puts(::dlerror()), 1;
  }
  auto* const entry = reinterpret_cast<plugin_entry*>(::dlsym(library, "plugin"));
  if (entry == nullptr) return 1;
  const plugin_face* const face = entry();
  face->release(face->allocate(100));
  return 0;
}
