// The classic SizeBasedArena: all objects of one class in one bounded arena of the program, without a heap.
// With `reuse` freed objects and arrays are used again.
#include <cstddef>
#include <cstdio>
#include <new>

#include "SizeBasedArena.h"

namespace {

class Orc {
 public:
  static void* operator new(std::size_t n);
  static void operator delete(void* p) noexcept;
  int strength = 7;
  int health = 100;
};
using Tribe = SizeBasedArena<Orc, 1000>;
void* Orc::operator new(std::size_t n) { return Tribe::get().allocate_object(n); }
void Orc::operator delete(void* p) noexcept { Tribe::get().deallocate_one(p); }

class Arrow {
 public:
  static void* operator new[](std::size_t n);
  static void operator delete[](void* p) noexcept;
  float x = 0;
  float y = 0;
};
using Quiver = SizeBasedArena<Arrow, 64, ashlar::arena_option::reuse>;
void* Arrow::operator new[](std::size_t n) { return Quiver::get().allocate_array(n); }
void Arrow::operator delete[](void* p) noexcept { Quiver::get().deallocate_n(p); }

}  // namespace

int main() {
  std::size_t born = 0;
  try {
    for (;; ++born) delete new Orc;  // freeing does nothing: memory is handed out once
  } catch (const std::bad_alloc&) {
    std::printf("%zu orcs of %zu\n", born, Tribe::capacity());
  }

  std::size_t volleys = 0;
  for (; volleys < 100; ++volleys) delete[] new Arrow[50];
  std::printf("%zu volleys of 50 arrows, room for %zu, %zu in use\n", volleys, Quiver::capacity(),
              Quiver::get().in_use());
  return 0;
}
