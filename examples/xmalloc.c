/* The C face: malloc's functions with an x, on ashlar's heap, and the report of its pools. */
#include <stdio.h>
#include <string.h>

#include <ashlar/ashlar.h>

int main(void) {
  char* text = xmalloc(24);
  if (text == NULL) return 1;
  strcpy(text, "TEST STRING");
  char* longer = xrealloc(text, 124);
  if (longer == NULL) return 1;
  printf("%s, %zu usable bytes\n", longer, xusable_size(longer));
  xfree(longer);
  xalloc_stats();
  return 0;
}
