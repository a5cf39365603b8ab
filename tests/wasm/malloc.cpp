// The malloc of libashlar-malloc.a: every function against a model of what was written, new and delete, and the end of
// memory. With the argument "end", a double free is to end the program.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <malloc.h>

namespace {

[[noreturn]] void fail(const char* what, unsigned long at) {
  std::printf("malloc: %s (at step %lu)\n", what, at);
  std::_Exit(1);
}

struct held {
  unsigned char* p = nullptr;
  std::size_t bytes = 0;
  unsigned char byte = 0;
};

std::uint32_t state = 1;
std::uint32_t random_number() {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

/// Small blocks mostly, and some of up to 1 MiB.
std::size_t random_size() {
  const std::uint32_t r = random_number();
  return (r >> 8) % (r % 64 == 0 ? 1024 * 1024 : r % 8 == 0 ? 16 * 1024 : 400);
}

bool holds(const held& h, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (h.p[i] != h.byte) return false;
  return true;
}

void random_program(unsigned long steps) {
  static held all[2000];
  for (unsigned long step = 0; step < steps; ++step) {
    held& h = all[random_number() % 2000];
    if (!holds(h, h.bytes)) fail("a block was changed", step);
    const std::size_t bytes = random_size();
    if (h.p != nullptr && random_number() % 4 == 0) {  // realloc keeps what fits
      auto* const now = static_cast<unsigned char*>(std::realloc(h.p, bytes + 1));
      if (now == nullptr) fail("realloc: no memory", step);
      h.p = now;
      if (!holds(h, h.bytes < bytes ? h.bytes : bytes)) fail("realloc lost bytes", step);
    } else {
      std::free(h.p);
      std::size_t alignment = 16;
      void* p = nullptr;
      switch (random_number() % 5) {
        case 0:
          p = std::calloc(1, bytes + 1);
          for (std::size_t i = 0; p != nullptr && i <= bytes; ++i)
            if (static_cast<unsigned char*>(p)[i] != 0) fail("calloc: not zero", step);
          break;
        case 1:
          alignment = std::size_t{1} << (2 + random_number() % 12);
          if (::posix_memalign(&p, alignment, bytes + 1) != 0) fail("posix_memalign failed", step);
          break;
        case 2:
          alignment = std::size_t{1} << (random_number() % 12);
          p = ::aligned_alloc(alignment, bytes + 1);
          break;
        default:
          p = std::malloc(bytes + 1);
      }
      if (p == nullptr) fail("no memory", step);
      if (reinterpret_cast<std::uintptr_t>(p) % alignment != 0) fail("not aligned", step);
      h.p = static_cast<unsigned char*>(p);
    }
    if (::malloc_usable_size(h.p) < bytes + 1) fail("too short", step);
    h.bytes = bytes;
    h.byte = static_cast<unsigned char>(step);
    std::memset(h.p, h.byte, bytes);
  }
  for (held& h : all) std::free(h.p);
}

void rules() {
  errno = 0;
  if (std::malloc(SIZE_MAX) != nullptr || errno != ENOMEM) fail("malloc(SIZE_MAX)", 0);
  errno = 0;
  if (std::calloc(SIZE_MAX / 2, 3) != nullptr || errno != ENOMEM) fail("calloc that overflows", 0);
  void* p = &p;
  errno = 7;
  if (::posix_memalign(&p, 3, 1) != EINVAL || p != &p || errno != 7) fail("posix_memalign(3)", 0);
  if (::posix_memalign(&p, 16, SIZE_MAX / 2) != ENOMEM || p != &p || errno != 7)
    fail("posix_memalign of too much", 0);
  void* const none = std::malloc(0);
  if (none == nullptr) fail("malloc(0)", 0);
  std::free(none);
  std::free(nullptr);
}

/// run.mjs lets the memory have 64 MiB. Blocks of one size until there is no more; then the same again.
void end_of_memory(std::size_t size) {
  std::size_t counts[2] = {};
  for (std::size_t& count : counts) {
    void** last = nullptr;
    errno = 0;
    while (void* const p = std::malloc(size)) {
      *static_cast<void**>(p) = last;
      last = static_cast<void**>(p);
      ++count;
    }
    if (errno != ENOMEM) fail("no ENOMEM", size);
    while (last != nullptr) {
      void* const p = last;
      last = static_cast<void**>(*last);
      std::free(p);
    }
  }
  std::printf("blocks of %zu bytes in 64 MiB: %zu, then %zu\n", size, counts[0], counts[1]);
  if (counts[0] * size < (std::size_t{36} << 20)) fail("the end came early", size);
  if (counts[1] < counts[0] - counts[0] / 16) fail("memory was lost", size);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "end") == 0) {
    auto* volatile p = static_cast<char*>(std::malloc(40));
    std::free(p);
    std::free(p);
    return 0;
  }
  rules();
  random_program(50'000);
  {
    std::vector<std::string> texts;
    for (int i = 0; i < 10'000; ++i)
      texts.push_back(std::string(static_cast<std::size_t>(i % 100), 'x'));
    struct alignas(64) wide {
      char bytes[64];
    };
    auto* const w = new wide;
    if (reinterpret_cast<std::uintptr_t>(w) % 64 != 0) fail("aligned new", 0);
    delete w;
  }
  for (const std::size_t size :
       {std::size_t{64}, std::size_t{3000}, std::size_t{100'000}, std::size_t{3'000'000}})
    end_of_memory(size);
  std::puts("malloc: right");
}
