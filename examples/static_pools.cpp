// xallocator without a heap: the program says which block sizes it has and how many of each, here with
// two that its profile asked for, 396 and 768. All of it is static storage, 23 KB; when it is used up,
// xmalloc says null.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "xallocator_static_pools.h"

// In one source file of the program. It replaces the process heap behind xmalloc in all files.
XALLOCATOR_STATIC_POOLS(ashlar::blocks<16, 64>, ashlar::blocks<64, 64>, ashlar::blocks<128, 16>,
                        ashlar::blocks<396, 20>, ashlar::blocks<768, 10>);

int main() {
  // 300 bytes would take 512 with powers of two; here they take 396.
  char* text = static_cast<char*>(xmalloc(300));
  if (text == nullptr) return 1;
  std::strcpy(text, "TEST STRING");
  std::printf("300 bytes in a block of %zu\n", xusable_size(text));
  text = static_cast<char*>(xrealloc(text, 500));
  if (text == nullptr) return 1;
  std::printf("%s, now in a block of %zu\n", text, xusable_size(text));

  errno = 0;
  if (xmalloc(769) == nullptr && errno == ENOMEM) std::printf("769 bytes: no block is so large\n");

  xalloc_stats();
  xfree(text);
  return 0;
}
