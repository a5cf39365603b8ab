/* One helper makes all blocks. Those of one caller stay, and keep the pages of the others'. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char* copy_of(const char* text, size_t room) __attribute__((noinline));
static char* copy_of(const char* text, size_t room) {
  char* const copy = malloc(room);
  if (copy == NULL) abort();
  snprintf(copy, room, "%s", text);
  return copy;
}

enum { rows = 40000, labels = 1000 };
static char* text_of[rows];
static char* label_of[labels];

static void read_row(int i) __attribute__((noinline));
static void read_row(int i) {
  text_of[i] = copy_of("a row of a table", 120 + (size_t)i % 10 * 32);
}

static void add_label(int i) __attribute__((noinline));
static void add_label(int i) {
  label_of[i] = copy_of("label", 40 + (size_t)i % 3 * 16); /* planted: pins */
}

int main(void) {
  for (int i = 0; i < rows; ++i) {
    read_row(i);
    if (i % 40 == 0) add_label(i / 40);
  }
  long sum = 0;
  for (int i = 0; i < rows; ++i) {
    sum += text_of[i][0];
    free(text_of[i]);
  }
  for (int round = 0; round < 3000; ++round)
    for (int i = 0; i < labels; ++i) sum += label_of[i][0];
  printf("%ld\n", sum);
  return 0;
}
