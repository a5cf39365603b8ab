/* A C99 program with the classic names, as it finds them installed. */
#include <stdio.h>
#include <string.h>

#include "xallocator.h"

int main(void) {
  CHAR* text;
  xalloc_init();
  text = (CHAR*)xmalloc(24);
  if (text == NULL) return 1;
  strcpy(text, "TEST STRING");
  text = (CHAR*)xrealloc(text, 124);
  if (text == NULL || strcmp(text, "TEST STRING") != 0) return 2;
  xfree(text);
  xalloc_destroy();
  puts("classic: c");
  return 0;
}
