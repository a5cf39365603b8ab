// A library has operators new and delete of its own, as one that was linked with the C++ library inside and binds its
// calls to itself (rustc's LLVM). It makes objects that the program deletes, and deletes what the program made.
#include <new>
#include <string>

#include "outside.h"

#ifdef MODULE
// The library's own calls go here, whoever comes first in the order of the loader.
__asm__(".protected _Znwm, _Znam, _ZdlPv, _ZdlPvm, _ZdaPv");
void* operator new(std::size_t n) { return std::malloc(n); }
void* operator new[](std::size_t n) { return std::malloc(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
extern "C" int* make(int n) { return n < 0 ? new int[100] : new int(n); }
extern "C" void take(int* p) { delete p; }
#else
int main() {
  void* const module = dlopen(MODULE_FILE, RTLD_NOW);
  CHECK(module != NULL);
  const auto make = (int* (*)(int))dlsym(module, "make");
  const auto take = (void (*)(int*))dlsym(module, "take");
  for (int i = 0; i < 2000; ++i) {
    int* const one = make(i);
    CHECK(*one == i);
    delete one;
    delete[] make(-1);
    take(new int(i));
  }
  printf("done\n");
}
#endif
