// Holds blocks until it ends; with the argument "spoil", one of them written to beyond its end; with "sides", it says
// how many of a thousand blocks begin a page.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
void* volatile held[6];
volatile int five = 5;  // not a constant: an unrolled loop would be five places, not one
}  // namespace

// Not in a namespace, and exported: their names have to be found.
extern "C" {
[[gnu::noinline]] void hold_five() {
  for (int i = 0; i < five; ++i) held[i] = std::malloc(100);
}
[[gnu::noinline]] void hold_one() { held[5] = ::operator new(40); }
[[gnu::noinline]] void hold_none() {
  for (std::size_t size = 1; size < 1000; ++size) std::free(std::malloc(size));
}
}

namespace {
void tell_sides() {
  int begin_a_page = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(std::malloc(64));
    begin_a_page += address % 4096 == 0 ? 1 : 0;
  }
  std::printf("%d\n", begin_a_page);
}
}  // namespace

int main(int argc, char** argv) {
  hold_five();
  hold_one();
  hold_none();
  if (argc > 1 && std::strcmp(argv[1], "spoil") == 0) static_cast<char*>(held[2])[100] = 1;
  if (argc > 1 && std::strcmp(argv[1], "sides") == 0) tell_sides();
}
