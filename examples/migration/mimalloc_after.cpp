// What mimalloc_before.cpp does, with libashlar: the rest of the program stays on its malloc.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <ashlar/ashlar.h>
#include <ashlar/ashlar.hpp>

namespace {

int words_of_a_request() {
  ashlar::heap request;
  int words = 0;
  while (words < 1000 && request.try_allocate(100) != nullptr) ++words;
  return words;  // the heap's end frees them all
}

}  // namespace

int main() {
  std::printf("%d words, gone at once\n", words_of_a_request());

  const ashlar::containers::vector<int> numbers(1000, 7);
  std::printf("%zu numbers\n", numbers.size());

  auto* const line = static_cast<unsigned char*>(xaligned_alloc(64, 256));
  if (line == nullptr) return 1;
  std::memset(line, 0, 256);
  std::printf("aligned: %d, usable: %d, byte 255: %d\n",
              reinterpret_cast<std::uintptr_t>(line) % 64 == 0 ? 1 : 0,
              xusable_size(line) >= 256 ? 1 : 0, line[255]);
  xfree(line);
  ashlar_trim();
  return 0;
}
