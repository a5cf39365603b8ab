// With gperftools' tcmalloc: figures, a block's real size, and memory that goes back to the system.
// tcmalloc_after.cpp does the same with ashlar.
#include <cstdio>
#include <cstdlib>

#include <gperftools/malloc_extension.h>

namespace {

std::size_t bytes_in_use() {
  std::size_t bytes = 0;
  MallocExtension::instance()->GetNumericProperty("generic.current_allocated_bytes", &bytes);
  return bytes;
}

}  // namespace

int main() {
  const std::size_t before = bytes_in_use();
  void* const large = std::malloc(8 << 20);
  std::printf("8 MiB are seen: %d\n", bytes_in_use() - before >= 8 << 20 ? 1 : 0);
  std::printf("usable: %d\n",
              MallocExtension::instance()->GetAllocatedSize(large) >= 8 << 20 ? 1 : 0);
  std::free(large);
  MallocExtension::instance()->ReleaseFreeMemory();
  std::printf("and they are gone: %d\n", bytes_in_use() < before + 8192 ? 1 : 0);
  return 0;
}
