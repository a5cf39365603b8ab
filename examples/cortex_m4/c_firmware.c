/* C99 firmware on static pools: c_firmware_pools.cpp, the only C++ file of it, says how many blocks of which sizes. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ashlar/adapt/xmalloc.h>

struct reading {
  uint32_t time;
  uint16_t values[12];
};

/* Returns 0 if all is well, else the number of the step that was not. */
int image_main(void) {
  struct reading* held[8];
  for (size_t i = 0; i < 8; ++i) {
    held[i] = xcalloc(1, sizeof(struct reading));
    if (held[i] == NULL || held[i]->values[11] != 0) return 1;
  }
  if (xmalloc(sizeof(struct reading)) != NULL) return 2; /* the eighth was the last */
  for (size_t i = 0; i < 8; ++i) xfree(held[i]);

  char* text = xmalloc(20);
  if (text == NULL) return 3;
  strcpy(text, "grows into a larger");
  text = xrealloc(text, 100);
  if (text == NULL || strcmp(text, "grows into a larger") != 0 || xusable_size(text) != 128)
    return 4;
  xfree(text);
  return 0;
}
