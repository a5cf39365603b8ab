// With jemalloc: an arena of one's own that goes as a whole, an aligned block, and the figure of the
// bytes in use. jemalloc_after.cpp does the same with ashlar.
#include <cstdint>
#include <cstdio>
#include <string>

#include <jemalloc/jemalloc.h>

namespace {

std::size_t bytes_in_use() {
  std::uint64_t epoch = 1;  // the statistics are those of the last epoch
  mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch);
  std::size_t bytes = 0;
  std::size_t length = sizeof bytes;
  mallctl("stats.allocated", &bytes, &length, nullptr, 0);
  return bytes;
}

int words_of_a_tenant() {
  unsigned arena = 0;
  std::size_t length = sizeof arena;
  if (mallctl("arenas.create", &arena, &length, nullptr, 0) != 0) return 0;
  const int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
  int words = 0;
  while (words < 1000 && mallocx(100, flags) != nullptr) ++words;
  const std::string destroy = "arena." + std::to_string(arena) + ".destroy";
  mallctl(destroy.c_str(), nullptr, nullptr, nullptr, 0);
  return words;
}

}  // namespace

int main() {
  std::printf("%d words, gone at once\n", words_of_a_tenant());

  void* const line = mallocx(256, MALLOCX_ALIGN(64));
  std::printf("aligned: %d\n", reinterpret_cast<std::uintptr_t>(line) % 64 == 0 ? 1 : 0);
  dallocx(line, 0);

  const std::size_t before = bytes_in_use();
  void* const large = mallocx(8 << 20, 0);
  std::printf("8 MiB are seen: %d, usable: %d\n", bytes_in_use() - before >= 8 << 20 ? 1 : 0,
              sallocx(large, 0) >= 8 << 20 ? 1 : 0);
  dallocx(large, 0);
  mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // 4096: MALLCTL_ARENAS_ALL
  return 0;
}
