// A C program that is linked statically, with ashlar-malloc.o alone: its first allocations are the C library's own, before
// that has the tables by which a stack is walked. With FAULTS in the environment, a constructor frees a block twice.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char* kept;

__attribute__((constructor)) static void start_early(void) {
  char* const block = malloc(100);
  if (getenv("FAULTS") != NULL) {
    char* volatile again = block;
    free(block);
    free(again);
  } else {
    free(block);
  }
  kept = malloc(10);
  strcpy(kept, "as");
}

__attribute__((destructor)) static void end_late(void) { free(malloc(1000)); }

int main(void) {
  char* text = calloc(30, 1);
  snprintf(text, 30, "%s expected", kept);
  text = realloc(text, 300000);
  puts(text);
  free(text);
  free(kept);
}
