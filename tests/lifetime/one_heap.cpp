// A plugin whose copy of ashlar has visible names, in a program whose copy has them, too: the names of the program's copy
// come first, so there is one heap. Each of the two is libashlar.so or libashlar.a.
#include <tests/lifetime/plugin.hpp>
#include <tests/support/in_child.hpp>
#include <tests/support/require.hpp>
#include <thread>

#include <dlfcn.h>
#include <unistd.h>

#include <ashlar/ashlar.h>

namespace {

void cross(const plugin_face& face) {
  for (std::size_t size = 1; size < 300'000; size += 1 + size / 7) {
    void* const of_plugin = face.allocate(size);
    void* const own = xmalloc(size);
    REQUIRE(of_plugin != nullptr && own != nullptr && xusable_size(of_plugin) >= size);
    face.release(own);
    xfree(of_plugin);
  }
  static_cast<void>(face.trim());
}

}  // namespace

int main(int, char** arguments) {
  void* const early = xmalloc(100);
  void* const library = ::dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::fprintf(stderr, "%s\n", ::dlerror());
  REQUIRE(library != nullptr);
  auto* const entry = reinterpret_cast<plugin_entry*>(::dlsym(library, "plugin"));
  REQUIRE(entry != nullptr);
  const plugin_face face = *entry();
  cross(face);
  std::thread([&] { cross(face); }).join();
  const auto in_child = [&] {
    cross(face);
    return 42;
  };
  REQUIRE(support::exit_status_of(in_child) == 42);
  REQUIRE(::dlclose(library) == 0);
  cross({xmalloc, xfree, ashlar_trim});
  xfree(early);
}
