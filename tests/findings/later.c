// Programs that were written when the rules were settled: some have wastes, those named clean_* have none. Usage: later_c NAME
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

// clean_archive: Files of an archive are unpacked: the directory is read first, and the blocks of data go as they come.
struct file {
  char name[48];
  long bytes;
};

PROGRAM(clean_archive) {
  enum { files = 1200, blocks = 25, open = 200 };
  static struct file* directory[files];
  static char* data[open];
  for (int i = 0; i < files; ++i) {
    directory[i] = got(malloc(sizeof **directory));
    snprintf(directory[i]->name, sizeof directory[i]->name, "file%d", i);
    directory[i]->bytes = 0;
  }
  for (int i = 0; i < files * blocks; ++i) {
    char** const slot = &data[i * 7 % open];
    free(*slot);
    *slot = got(malloc(300 + (size_t)i * 37 % 1500));
    (*slot)[0] = 'd';
    directory[i / blocks]->bytes += (*slot)[0];
  }
  long sum = 0;
  for (int i = 0; i < files; ++i) sum += directory[i]->bytes;
  printf("%ld\n", sum);
}

// clean_hash_join: A join of two tables: one is hashed into a table of twice as many places as it has rows, the other one looks there.
enum { rows = 150000, places = 1 << 19 };

struct row {
  uint32_t key;
  uint32_t value;
};

static uint32_t place_of(uint32_t key) { return key * 2654435761u >> 13; }

PROGRAM(clean_hash_join) {
  struct row* const left = malloc(rows * sizeof *left);
  struct row* const hashed = calloc(places, sizeof *hashed);
  char* const output = malloc(1 << 20);
  if (left == NULL || hashed == NULL || output == NULL) abort();
  for (uint32_t i = 0; i < rows; ++i) left[i] = (struct row){i * 37 + 1, i};
  for (uint32_t i = 0; i < rows; ++i) {
    uint32_t place = place_of(left[i].key);
    while (hashed[place].key != 0) place = (place + 1) % places;
    hashed[place] = left[i];
  }
  size_t used = 0;
  long sum = 0;
  for (uint32_t key = 1; key < 2000000; key += 3) {
    uint32_t place = place_of(key);
    while (hashed[place].key != 0 && hashed[place].key != key) place = (place + 1) % places;
    if (hashed[place].key == 0) continue;
    if (used + 16 < 1 << 20) used += (size_t)snprintf(output + used, 16, "%u ", (unsigned)key);
    sum += hashed[place].value;
  }
  printf("%ld, %zu bytes, %.20s\n", sum, used, output);
  free(output);
  free(hashed);
  free(left);
}

// clean_shell: Reads commands of any length with getline, keeps the last hundred, and looks up words in a sorted table.
static int compare(const void* a, const void* b) {
  return strcmp(*(const char* const*)a, *(const char* const*)b);
}

PROGRAM(clean_shell) {
  const char* words[] = {"cat", "echo", "ls", "make", "sed", "sort"};
  char* history[100] = {0};
  size_t kept = 0, known = 0, room = 0;
  char* line = NULL;
  FILE* const in = tmpfile();
  if (in == NULL) abort();
  for (int i = 0; i < 900; ++i)
    fprintf(in, "%s with argument %d %.*s\n", words[i % 6], i, i % 70,
            "----------------------------------------------------------------------");
  rewind(in);
  while (getline(&line, &room, in) > 0) {
    char word[16] = {0};
    sscanf(line, "%15s", word);
    const char* const key = word;
    known += bsearch(&key, words, 6, sizeof *words, compare) != NULL;
    free(history[kept % 100]);
    history[kept++ % 100] = strdup(line);
  }
  for (size_t i = 0; i < 100; ++i) free(history[i]);
  free(line);
  fclose(in);
  printf("%zu of %zu\n", known, kept);
}

// image_tiles: Tiles of an image: each has its pixels and a row of pointers, and a list of them grows by one at a time.
/* allocator: ashlar */
struct tile {
  int x, y;
  unsigned char pixels[2048];
};

PROGRAM(image_tiles) {
  struct tile** tiles = NULL;
  size_t count = 0;
  for (int y = 0; y < 40; ++y)
    for (int x = 0; x < 40; ++x) {
      struct tile** const more =
          got(realloc(tiles, (count + 1) * sizeof *tiles)); /* planted: growth */
      tiles = more;
      tiles[count] = got(malloc(sizeof **tiles)); /* planted: slack */
      memset(tiles[count], 0, sizeof **tiles);
      tiles[count]->x = x;
      tiles[count++]->y = y;
    }
  printf("%zu\n", count);
}

// pins_symbols: A compiler's symbols, made among the nodes of each function. The nodes go when all functions are done.
struct symbol {
  struct symbol* next;
  int kind;
  char name[40];
};
struct node {
  struct node* next;
  int operation;
  char more[];
};
static struct symbol* symbols;
static struct node* nodes;

static void add_node(int operation) {
  struct node* const n = got(malloc(sizeof *n + 32 + (size_t)operation % 9 * 24));
  n->operation = operation;
  n->more[0] = 0;
  n->next = nodes;
  nodes = n;
}

static void declare(int number) {
  struct symbol* const s = got(malloc(sizeof *s)); /* planted: pins */
  s->kind = number % 4;
  snprintf(s->name, sizeof s->name, "symbol%d", number);
  s->next = symbols;
  symbols = s;
}

PROGRAM(pins_symbols) {
  for (int function = 0; function < 1500; ++function) {
    declare(function);
    for (int i = 0; i < 40; ++i) add_node(i);
  }
  long sum = 0;
  while (nodes != NULL) {
    struct node* const next = nodes->next;
    sum += nodes->operation;
    free(nodes);
    nodes = next;
  }
  for (int pass = 0; pass < 1000; ++pass)
    for (const struct symbol* s = symbols; s != NULL; s = s->next) sum += s->kind;
  printf("%ld\n", sum);
}
