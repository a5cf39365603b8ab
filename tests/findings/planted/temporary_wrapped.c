/* Memory from a function that ends the program where there is none, as many C programs have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* __attribute__((noinline)) xmalloc(size_t n) {
  void* const p = malloc(n);
  if (p == NULL) abort();
  return p;
}
static char* __attribute__((noinline)) xstrdup(const char* text) {
  return strcpy(xmalloc(strlen(text) + 1), text);
}

struct entry {
  struct entry* next;
  char* name;
};

static size_t compare(const char* name, const struct entry* with) {
  char* const lower = xstrdup(name); /* planted: temporary */
  for (char* c = lower; *c != 0; ++c) *c = (char)(*c | 0x20);
  const size_t same = strcmp(lower, with->name) == 0;
  free(lower);
  return same;
}

int main(void) {
  struct entry* all = NULL;
  size_t same = 0;
  char name[64];
  for (int i = 0; i < 3000; ++i) {
    struct entry* const e = xmalloc(sizeof *e);
    snprintf(name, sizeof name, "name %.*s of an entry", i % 24, "abcdefghijklmnopqrstuvwx");
    e->name = xstrdup(name);
    e->next = all;
    all = e;
    same += compare(name, all);
  }
  printf("%zu\n", same);
  return 0;
}
