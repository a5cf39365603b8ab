// realloc of large blocks: every page keeps its content over growth, moves and shrinking; what
// cannot be had leaves it alone; other blocks are in the way.
#include "outside.h"

static void mark(size_t* block, size_t from, size_t to) {
  for (size_t i = (from + 4095) / 4096 * 512; (i + 1) * 8 <= to; i += 512)
    block[i] = i * 2654435761u;
}
static void look(const size_t* block, size_t to) {
  for (size_t i = 0; (i + 1) * 8 <= to; i += 512) CHECK(block[i] == i * 2654435761u);
}

int main(void) {
  size_t *a = NULL, *b = NULL, size = 0;
  for (size_t next = 3000; next < (size_t)80 << 20; next += next / 2 + 777) {
    a = (size_t*)realloc(a, next);
    b = (size_t*)realloc(b, next);
    mark(a, size, next);
    mark(b, size, next);
    look(a, next);
    size = next;
    errno = 0;
    CHECK(realloc(a, (size_t)1 << 60) == NULL && errno == ENOMEM);
    look(a, size);
  }
  look(b, size);
  for (; size > 1000; size = size * 3 / 5) {
    a = (size_t*)realloc(a, size);
    b = (size_t*)realloc(b, size + 1);
    look(a, size);
    look(b, size);
    CHECK(malloc_usable_size(a) >= size);
  }
  free(b);
  size = 5 << 20;
  a = (size_t*)realloc(a, size);
  mark(a, 0, size);
  for (int i = 0; i < 150; ++i) {
    size_t next = size + 40000;
    a = (size_t*)realloc(a, next);
    void* in_the_way = malloc(300000);
    mark(a, size, next);
    size = next;
    if (i % 50 == 0) look(a, size);
    free(in_the_way);
  }
  look(a, size);
  free(a);
  printf("kept\n");
}
