// Programs without wastes. Usage: clean_c NAME
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"

// bounded_cache: A cache with a bound, and a table that is loaded in the first third: neither grows for ever.
static char* filled(size_t bytes) {
  char* const block = got(malloc(bytes));
  memset(block, 'x', bytes);
  return block;
}

PROGRAM(bounded_cache) {
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

// large_ones_stay: What stays are whole pages: each keeps itself, and nothing else.
PROGRAM(large_ones_stay) {
  enum { rows = 30000, tiles = 600 };
  static char* row_of[rows];
  static char* tile_of[tiles];
  for (int i = 0; i < rows; ++i) {
    const size_t size = 120 + (size_t)i % 21 * 10;
    row_of[i] = got(malloc(size));
    memset(row_of[i], 1, size);
    if (i % 50 != 0) continue;
    char** const tile = &tile_of[i / 50];
    *tile = got(aligned_alloc(4096, 4096 + (size_t)i % 3 * 4096));
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

// notes_in_pool: Notes between lines of a file, from a pool of large blocks: they keep no page of the lines. (pins_log_notes with the remedy.)
struct note {
  struct note* next;
  char text[56];
};
static struct note* notes;

static struct note* make_note(void) {
  enum { count = 256 * 1024 / sizeof(struct note) };
  static struct note* pool;
  static size_t left;
  if (left == 0) {
    pool = got(malloc(count * sizeof *pool));
    left = count;
  }
  return &pool[--left];
}

PROGRAM(notes_in_pool) {
  enum { lines = 40000 };
  static char* line_of[lines];
  for (int i = 0; i < lines; ++i) {
    const size_t length = 200 + (size_t)i * 7 % 150;
    line_of[i] = got(malloc(length));
    memset(line_of[i], 'a', length);
    if (i % 30 != 0) continue;
    struct note* const made = make_note();
    snprintf(made->text, sizeof made->text, "line %d", i);
    made->next = notes;
    notes = made;
  }
  long sum = 0;
  for (int i = 0; i < lines; ++i) {
    sum += line_of[i][0];
    free(line_of[i]);
  }
  for (int round = 0; round < 500; ++round)
    for (const struct note* n = notes; n != NULL; n = n->next) sum += n->text[0];
  printf("%ld\n", sum);
}

// pages_on_glibc: As pages of a file with a header each, but on glibc: 4112 bytes have a block of 4128 there, and 16 bytes less save 16.
struct cached_page {
  struct cached_page* next;
  unsigned long number;
  char bytes[4096];
};

PROGRAM(pages_on_glibc) {
  struct cached_page* all = NULL;
  for (unsigned long i = 0; i < 600; ++i) {
    struct cached_page* const page = got(malloc(sizeof *page));
    memset(page, 0, sizeof *page);
    page->next = all;
    page->number = i;
    all = page;
  }
  printf("%lu\n", all->number);
}

// small_reserves: Reserves that are not worth a change: a few hundred KiB beside a program that holds much more.
PROGRAM(small_reserves) {
  enum { rows = 64, row_bytes = 256 << 10 };
  char* all[rows];
  for (int i = 0; i < rows; ++i) {
    all[i] = got(malloc(row_bytes));
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
