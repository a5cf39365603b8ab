// Holds blocks until it ends; with the argument "spoil", one of them written to beyond its end.
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
[[gnu::noinline]] void hold_one() {
  held[5] = ::operator new(40);
}
[[gnu::noinline]] void hold_none() {
  for (std::size_t size = 1; size < 1000; ++size) std::free(std::malloc(size));
}
}

int main(int argc, char** argv) {
  hold_five();
  hold_one();
  hold_none();
  if (argc > 1 && std::strcmp(argv[1], "spoil") == 0) static_cast<char*>(held[2])[100] = 1;
}
