#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
  struct entry* next;
  char* title;
};

static char* title_of(int number) {
  char line[100];
  snprintf(line, sizeof line, "entry %d", number);
  char* const title = malloc(strlen(line) + 1);
  return title == NULL ? NULL : strcpy(title, line);
}

static struct entry* add(struct entry* list, int number) {
  struct entry* const e = malloc(sizeof *e);
  if (e == NULL) abort();
  e->next = list;
  e->title = title_of(number);
  return e;
}

int main(void) {
  struct entry* list = NULL;
  for (int i = 0; i < 1000; ++i) list = add(list, i);
  while (list != NULL) {
    struct entry* const e = list;
    list = e->next;
    free(e->title);
    free(e);
  }
  return 0;
}
