// Uses of new and delete that do not fit, one a run. Run: hardened_operators MODE; without: prints the modes.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

void* volatile hidden;
void* laundered(void* p) {
  hidden = p;
  return hidden;
}
void* got(std::size_t n) {
  return laundered(::operator new(n));
}
void* got_array(std::size_t n) {
  return laundered(::operator new[](n));
}

struct mode {
  const char* name;
  void (*run)();
};
constexpr mode modes[] = {
    {"correct",
     [] {
       for (std::size_t n = 0; n < 5000; n += 7) {
         ::operator delete(got(n), n);
         ::operator delete(got(n));
         ::operator delete[](got_array(n), n);
         ::operator delete[](got_array(n));
         constexpr std::align_val_t a{64};
         ::operator delete(laundered(::operator new(n, a)), n, a);
         ::operator delete[](laundered(::operator new[](n, a)), n, a);
         ::operator delete(laundered(::operator new(n, std::nothrow)), n);
         std::free(laundered(std::malloc(n)));
       }
       ::operator delete(nullptr, std::size_t{8});
     }},
    {"new_free", [] { std::free(got(40)); }},
    {"new_array_free", [] { std::free(got_array(40)); }},
    {"malloc_delete", [] { ::operator delete(laundered(std::malloc(40))); }},
    {"new_delete_array", [] { ::operator delete[](got(40)); }},
    {"new_array_delete", [] { ::operator delete(got_array(40)); }},
    {"new_realloc", [] { hidden = std::realloc(got(40), 80); }},
    {"sized_too_large", [] { ::operator delete(got(40), 41); }},
    {"sized_too_small", [] { ::operator delete(got(40), 39); }},
    {"sized_array", [] { ::operator delete[](got_array(400), 8); }},
};

}  // namespace

int main(int count, char** arguments) {
  for (const mode& m : modes) {
    if (count < 2)
      std::puts(m.name);
    else if (std::strcmp(m.name, arguments[1]) == 0)
      m.run();
  }
  if (count >= 2) std::puts("ended");
}
