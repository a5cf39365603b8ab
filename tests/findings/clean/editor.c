/* A text editor's buffer: one block with a gap, which doubles when it is full; undo steps of any length. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
  char* bytes;
  size_t used, room;
};

static void insert(struct buffer* b, const char* text, size_t n) {
  if (b->used + n > b->room) {
    b->room = 2 * (b->used + n);
    b->bytes = realloc(b->bytes, b->room);
    if (b->bytes == NULL) abort();
  }
  memcpy(b->bytes + b->used, text, n);
  b->used += n;
}

int main(void) {
  enum { steps = 400 };
  struct buffer text = {0};
  char* undo[steps] = {0};
  unsigned long place = 7;
  for (int i = 0; i < 30000; ++i) {
    char word[64];
    const int n = snprintf(word, sizeof word, "word %d of a long text ", i);
    insert(&text, word, (size_t)n);
    place = place * 1103515245u + 12345u;
    if (place / 65536 % 8 == 0) {
      char** const step = &undo[place / 1048576 % steps];
      const size_t length = (size_t)(n + (int)(place / 65536 % 100));
      free(*step);
      *step = malloc(length);
      if (*step == NULL) abort();
      memset(*step, 0, length);
    }
  }
  printf("%zu\n", text.used);
  for (int i = 0; i < steps; ++i) free(undo[i]);
  free(text.bytes);
  return 0;
}
