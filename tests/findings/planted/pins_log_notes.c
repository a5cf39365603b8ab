/* A note here and there while a file is read. The lines go, and each note keeps a page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct note {
  struct note* next;
  char text[56];
};
static struct note* notes;

static void log_note(const char* what, int line) {
  struct note* const made = malloc(sizeof *made); /* planted: pins */
  if (made == NULL) abort();
  snprintf(made->text, sizeof made->text, "%s at %d", what, line);
  made->next = notes;
  notes = made;
}

int main(void) {
  enum { count = 40000 };
  static char* lines[count];
  for (int i = 0; i < count; ++i) {
    const size_t length = 200 + (size_t)i * 7 % 150;
    lines[i] = malloc(length);
    if (lines[i] == NULL) abort();
    memset(lines[i], 'a', length);
    if (i % 30 == 0) log_note("a long line", i);
  }
  long sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += lines[i][0];
    free(lines[i]);
  }
  for (int i = 0; i < 200; ++i)
    for (const struct note* n = notes; n != NULL; n = n->next) sum += n->text[0];
  printf("%ld\n", sum);
  return 0;
}
