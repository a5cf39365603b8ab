/* As slack_pages.c, but on glibc: 4112 bytes have a block of 4128 there, and 16 bytes less save 16. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cached_page {
  struct cached_page* next;
  unsigned long number;
  char bytes[4096];
};

int main(void) {
  struct cached_page* all = NULL;
  for (unsigned long i = 0; i < 600; ++i) {
    struct cached_page* const page = malloc(sizeof *page);
    if (page == NULL) abort();
    memset(page, 0, sizeof *page);
    page->next = all;
    page->number = i;
    all = page;
  }
  printf("%lu\n", all->number);
  return 0; /* the system takes the cache back */
}
