// Obstacks on malloc: growing objects, large and small chunks, freeing back to a mark.
#include "outside.h"
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

int main(void) {
  struct obstack stack;
  long sum = 0;
  for (int chunk = 64; chunk < 300000; chunk *= 5) {
    obstack_begin(&stack, chunk);
    char* mark = (char*)obstack_alloc(&stack, 1);
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 1500; ++i) {
        obstack_grow(&stack, "some text", 9);
        if (i % 7 == 0) obstack_blank(&stack, i);
        obstack_grow0(&stack, "end", 3);
        sum += obstack_object_size(&stack);
        char* object = (char*)obstack_finish(&stack);
        CHECK(memcmp(object, "some text", 9) == 0);
        if (i % 10 == 9) obstack_free(&stack, object);
      }
      obstack_free(&stack, mark);
      mark = (char*)obstack_copy(&stack, "mark", 5);
    }
    obstack_free(&stack, NULL);
  }
  printf("%ld\n", sum);
}
