/* xallocator from C99, as classic code has it: init and destroy by hand. */
#include <stdio.h>
#include <string.h>

#include "xallocator.h"

#ifdef WITH_C_API /* more of libashlar beside the program's own xmalloc must not clash with it */
#include <ashlar/ashlar.h>
#endif

int main(void) {
  void* memory1;
  char* memory2;
  xalloc_init();
  memory1 = xmalloc(100);
  memory2 = (char*)xmalloc(24);
  if (memory1 == NULL || memory2 == NULL) return 1;
  strcpy(memory2, "TEST STRING");
  memory2 = (char*)xrealloc(memory2, 124);
  if (memory2 == NULL || strcmp(memory2, "TEST STRING") != 0) return 2;
  xalloc_stats();
  xfree(memory1);
  xfree(memory2);
  xfree(NULL);
#ifdef WITH_C_API
  {
    struct ashlar_stats stats;
    (void)ashlar_trim();
    ashlar_stats_get(&stats);
    if (stats.total.bytes_in_use > 1u << 20) return 3;
  }
#endif
  xalloc_destroy();
  return 0;
}
