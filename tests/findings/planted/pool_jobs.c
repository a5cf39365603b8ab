/* Jobs that wait in a wheel of slots. */
#include <stdio.h>
#include <stdlib.h>

struct job {
  int number;
  char text[92];
};

static struct job* submit(int number) {
  struct job* const j = malloc(sizeof *j); /* planted: pool */
  if (j == NULL) abort();
  j->number = number;
  snprintf(j->text, sizeof j->text, "job %d", number);
  return j;
}

int main(void) {
  enum { slots = 256 };
  struct job* wheel[slots] = {0};
  unsigned long done = 0, place = 1;
  for (int i = 0; i < 20000; ++i) {
    place = place * 1103515245u + 12345u;
    struct job** const at = &wheel[place / 65536 % slots];
    if (*at != NULL) {
      done += (unsigned long)(*at)->number;
      free(*at);
    }
    *at = submit(i);
  }
  printf("%lu\n", done);
  return 0;
}
