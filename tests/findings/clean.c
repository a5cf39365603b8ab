// Programs without wastes. Usage: clean_c NAME
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"

// bounded_cache: A cache with a bound, and a table that is loaded in the first third: neither grows for ever.
static char* filled(size_t bytes) {
  char* const block = malloc(bytes);
  if (block == NULL) abort();
  memset(block, 'x', bytes);
  return block;
}

static void bounded_cache(void) {
  static char* cache[60];
  static char* table[300];
  for (int i = 0; i < 300; ++i) {
    if (i < 100) table[i] = filled(2000 + (size_t)i % 5);
    free(cache[i % 60]);
    cache[i % 60] = filled(3000 + (size_t)i % 7);
    usleep(8000);
  }
  printf("%c%c\n", cache[0][0], table[0][0]);
}

// editor: A text editor's buffer: one block with a gap, which doubles when it is full; undo steps of any length.
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

static void editor(void) {
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
}

// large_ones_stay: What stays are whole pages: each keeps itself, and nothing else.
static void large_ones_stay(void) {
  enum { rows = 30000, tiles = 600 };
  static char* row_of[rows];
  static char* tile_of[tiles];
  for (int i = 0; i < rows; ++i) {
    const size_t size = 120 + (size_t)i % 21 * 10;
    row_of[i] = malloc(size);
    if (row_of[i] == NULL) abort();
    memset(row_of[i], 1, size);
    if (i % 50 != 0) continue;
    char** const tile = &tile_of[i / 50];
    *tile = aligned_alloc(4096, 4096 + (size_t)i % 3 * 4096);
    if (*tile == NULL) abort();
    memset(*tile, 2, 4096);
  }
  long sum = 0;
  for (int i = 0; i < rows; ++i) {
    sum += row_of[i][0];
    free(row_of[i]);
  }
  for (int round = 0; round < 3000; ++round)
    for (int i = 0; i < tiles; ++i) sum += tile_of[i][round];
  printf("%ld\n", sum);
}

// pages_on_glibc: As slack_pages.c, but on glibc: 4112 bytes have a block of 4128 there, and 16 bytes less save 16.
struct cached_page {
  struct cached_page* next;
  unsigned long number;
  char bytes[4096];
};

static void pages_on_glibc(void) {
  struct cached_page* all = NULL;
  for (unsigned long i = 0; i < 600; ++i) {
    struct cached_page* const page = malloc(sizeof *page);
    if (page == NULL) abort();
    memset(page, 0, sizeof *page);
    page->next = all;
    page->number = i;
    all = page;
  }
  printf("%lu\n", all->number);
}

// small_reserves: Reserves that are not worth a change: a few hundred KiB beside a program that holds much more.
static void small_reserves(void) {
  enum { rows = 64, row_bytes = 256 << 10 };
  char* all[rows];
  for (int i = 0; i < rows; ++i) {
    all[i] = malloc(row_bytes);
    if (all[i] == NULL) abort();
    memset(all[i], i, row_bytes);
  }
  char* const names = malloc(512 << 10);
  char* const input = malloc(256 << 10);
  if (names == NULL || input == NULL) abort();
  strcpy(names, "a name");
  strcpy(input, "a line of input");
  printf("%d %s %s\n", all[rows - 1][100], names, input);
  for (int i = 0; i < rows; ++i) free(all[i]);
  free(input);
  free(names);
}

static const struct program programs[] = {
    {"bounded_cache", bounded_cache},     {"editor", editor},
    {"large_ones_stay", large_ones_stay}, {"pages_on_glibc", pages_on_glibc},
    {"small_reserves", small_reserves},
};
int main(int argc, char** argv) {
  return run_program(argc, argv, programs, sizeof programs / sizeof *programs);
}
