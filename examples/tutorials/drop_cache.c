/* A cache that gives way at the limit of memory. docs/how-to/keep-within-a-limit.md runs it. */
#include <stdio.h>
#include <string.h>

#include <ashlar/ashlar.h>

enum { entry_bytes = 256 * 1024, entries_max = 1024 };

struct cache {
  void* entries[entries_max];
  size_t first, end; /* which are there */
};

static void drop(size_t bytes_to_drop, void* argument) {
  struct cache* cache = argument;
  for (size_t freed = 0; freed < bytes_to_drop && cache->first != cache->end; freed += entry_bytes)
    xfree(cache->entries[cache->first++]);
}

int main(void) {
  static struct cache cache;
  ashlar_on_limit(drop, &cache, 80);
  ashlar_limit(64 << 20);
  while (cache.end != entries_max) {
    void* entry = xmalloc(entry_bytes);
    if (entry == NULL) break;
    cache.entries[cache.end++] = memset(entry, 1, entry_bytes);
  }
  printf("%zu entries made, %zu of them dropped\n", cache.end, cache.first);
  return 0;
}
