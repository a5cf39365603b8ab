#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
  char* name;
  char* query;
};

static char* copy_of(const char* text) {
  char* const copy = malloc(strlen(text) + 1);
  return copy == NULL ? NULL : strcpy(copy, text);
}

static struct session* open_session(int number) {
  char name[32];
  snprintf(name, sizeof name, "guest %d", number);
  struct session* const s = malloc(sizeof *s);
  if (s == NULL) abort();
  s->name = copy_of(name);
  s->query = copy_of("What is new since yesterday?");
  return s;
}

static void close_session(struct session* s) {
  free(s->name);
  free(s);
}

int main(void) {
  for (int i = 0; i < 1000; ++i) close_session(open_session(i));
  return 0;
}
