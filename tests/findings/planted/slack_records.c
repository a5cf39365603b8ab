/* glibc gives 288 bytes for 272, and 272 for 264. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record {
  struct record* next;
  char text[264];
};

int main(void) {
  struct record* all = NULL;
  for (int i = 0; i < 6000; ++i) {
    struct record* const r = malloc(sizeof *r); /* planted: slack */
    if (r == NULL) abort();
    memset(r->text, i, sizeof r->text);
    r->next = all;
    all = r;
  }
  printf("%d\n", all->text[0]);
  return 0; /* the system takes them back */
}
