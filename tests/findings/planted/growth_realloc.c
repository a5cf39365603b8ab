/* Lines of text that grow by 32 bytes at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
  char* bytes;
  size_t length, capacity;
};

static void append(struct text* t, const char* more) {
  const size_t n = strlen(more);
  if (t->length + n >= t->capacity) {
    t->capacity = t->length + n + 32;
    t->bytes = realloc(t->bytes, t->capacity); /* planted: growth */
    if (t->bytes == NULL) abort();
  }
  memcpy(t->bytes + t->length, more, n + 1);
  t->length += n;
}

int main(void) {
  size_t all = 0;
  for (int i = 0; i < 400; ++i) {
    struct text line = {0};
    for (int k = 0; k < 60; ++k) append(&line, "word after word ");
    all += line.length;
    free(line.bytes);
  }
  printf("%zu\n", all);
  return 0;
}
