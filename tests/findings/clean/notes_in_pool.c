/* Notes between lines of a file, from a pool of large blocks: they keep no page of the lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct note {
  struct note* next;
  char text[56];
};
static struct note* notes;

static struct note* make_note(void) {
  enum { count = 256 * 1024 / sizeof(struct note) };
  static struct note* pool;
  static size_t left;
  if (left == 0) {
    pool = malloc(count * sizeof *pool);
    if (pool == NULL) abort();
    left = count;
  }
  return &pool[--left];
}

int main(void) {
  enum { lines = 40000 };
  static char* line_of[lines];
  for (int i = 0; i < lines; ++i) {
    const size_t length = 200 + (size_t)i * 7 % 150;
    line_of[i] = malloc(length);
    if (line_of[i] == NULL) abort();
    memset(line_of[i], 'a', length);
    if (i % 30 != 0) continue;
    struct note* const made = make_note();
    snprintf(made->text, sizeof made->text, "line %d", i);
    made->next = notes;
    notes = made;
  }
  long sum = 0;
  for (int i = 0; i < lines; ++i) {
    sum += line_of[i][0];
    free(line_of[i]);
  }
  for (int round = 0; round < 500; ++round)
    for (const struct note* n = notes; n != NULL; n = n->next) sum += n->text[0];
  printf("%ld\n", sum);
  return 0;
}
