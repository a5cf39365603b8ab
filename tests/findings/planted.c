// Programs with planted wastes: measure.py reads the comments. Usage: planted_c NAME
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"

// leak_requests: A server that frees the buffer of each request, but not the name of its client.
static char* name_of(int number) {
  char* const name = got(malloc(8000 + (size_t)number % 7)); /* planted: leak */
  snprintf(name, 8000, "client %d", number);
  return name;
}

static size_t serve(int number) {
  char* const answer = got(calloc(1, 3000 + (size_t)number % 11));
  strcpy(answer, name_of(number));
  const size_t length = strlen(answer);
  free(answer);
  return length;
}

PROGRAM(leak_requests) {
  size_t sent = 0;
  for (int i = 0; i < 300; ++i) {
    sent += serve(i);
    usleep(8000);
  }
  printf("%zu\n", sent);
}

// leak_on_error: A parser that frees its tokens, but not the text of those that it refuses.
static char* text_of_token(int number) {
  char* const text = got(malloc(600 + (size_t)number % 5)); /* planted: leak */
  snprintf(text, 600, "%stoken %d", number % 3 == 0 ? "!" : "", number);
  return text;
}

PROGRAM(leak_on_error) {
  size_t read = 0;
  for (int i = 0; i < 1200; ++i) {
    char* const text = text_of_token(i);
    read += strlen(text);
    if (text[0] != '!') free(text);
    usleep(1500);
  }
  printf("%zu\n", read);
}

// pins_helper: One helper makes all blocks. Those of one caller stay, and keep the pages of the others'.
static char* copy_of(const char* text, size_t room) __attribute__((noinline));
static char* copy_of(const char* text, size_t room) {
  char* const copy = got(malloc(room));
  snprintf(copy, room, "%s", text);
  return copy;
}

enum { rows = 40000, labels = 1000 };
static char* text_of[rows];
static char* label_of[labels];

static void read_row(int i) __attribute__((noinline));
static void read_row(int i) { text_of[i] = copy_of("a row of a table", 120 + (size_t)i % 10 * 32); }

static void add_label(int i) __attribute__((noinline));
static void add_label(int i) {
  label_of[i] = copy_of("label", 40 + (size_t)i % 3 * 16); /* planted: pins */
}

PROGRAM(pins_helper) {
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
}

// pins_log_notes: A note here and there while a file is read. The lines go, and each note keeps a page.
struct note {
  struct note* next;
  char text[56];
};
static struct note* notes;

static void log_note(const char* what, int line) {
  struct note* const made = got(malloc(sizeof *made)); /* planted: pins */
  snprintf(made->text, sizeof made->text, "%s at %d", what, line);
  made->next = notes;
  notes = made;
}

PROGRAM(pins_log_notes) {
  enum { count = 40000 };
  static char* lines[count];
  for (int i = 0; i < count; ++i) {
    const size_t length = 200 + (size_t)i * 7 % 150;
    lines[i] = got(malloc(length));
    memset(lines[i], 'a', length);
    if (i % 30 == 0) log_note("a long line", i);
  }
  long sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += lines[i][0];
    free(lines[i]);
  }
  for (int i = 0; i < 200; ++i)
    for (const struct note* n = notes; n != NULL; n = n->next) sum += n->text[0];
  printf("%ld\n", sum);
}

// pins_same_class: Rows come and go, and notes of their size class stay: slabs do not part them.
/* allocator: ashlar */
static char* keep_note(int i) {
  char* const made = got(malloc(60)); /* planted: pins */
  snprintf(made, 60, "note %d", i);
  return made;
}

PROGRAM(pins_same_class) {
  enum { count = 60000 };
  static char* row_of[count];
  static char* note_of[count];
  for (int i = 0; i < count; ++i) {
    row_of[i] = got(malloc(50 + (size_t)i % 14));
    row_of[i][0] = 'a';
    if (i % 60 == 0) note_of[i] = keep_note(i);
  }
  long sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += row_of[i][0];
    free(row_of[i]);
  }
  for (int round = 0; round < 300; ++round)
    for (int i = 0; i < count; i += 60) sum += note_of[i][0];
  printf("%ld\n", sum);
}

// pins_sessions: A session is three blocks. Only if all three lie elsewhere are the pages of the requests free.
struct session {
  int number;
  char* user;
  unsigned char* key;
};
enum { sessions = 1500, requests = 30 };
static struct session* open_sessions[sessions];
static char* requests_of[sessions * requests];

static struct session* begin(int number) {
  struct session* const s = got(malloc(sizeof *s)); /* planted: pins */
  s->number = number;
  s->user = malloc(20 + (size_t)number % 20);    /* planted: pins */
  s->key = malloc(48 + (size_t)number % 3 * 16); /* planted: pins */
  if (s->user == NULL || s->key == NULL) abort();
  sprintf(s->user, "user %d", number);
  memset(s->key, number, 48);
  return s;
}

PROGRAM(pins_sessions) {
  for (int i = 0; i < sessions; ++i) {
    open_sessions[i] = begin(i);
    for (int k = 0; k < requests; ++k) {
      const size_t size = 150 + (size_t)(i + k) % 17 * 10;
      char* const request = got(malloc(size));
      memset(request, k, size);
      requests_of[i * requests + k] = request;
    }
  }
  long sum = 0;
  for (int i = 0; i < sessions * requests; ++i) {
    sum += requests_of[i][1];
    free(requests_of[i]);
  }
  for (int round = 0; round < 3000; ++round)
    for (int i = 0; i < sessions; ++i) sum += open_sessions[i]->key[0] + open_sessions[i]->user[0];
  printf("%ld\n", sum);
}

// pool_jobs: Jobs that wait in a wheel of slots.
struct job {
  int number;
  char text[92];
};

static struct job* submit(int number) {
  struct job* const j = got(malloc(sizeof *j)); /* planted: pool */
  j->number = number;
  snprintf(j->text, sizeof j->text, "job %d", number);
  return j;
}

PROGRAM(pool_jobs) {
  enum { slots = 256 };
  struct job* wheel[slots] = {0};
  unsigned long done = 0, place = 1;
  for (int i = 0; i < 20000; ++i) {
    place = place * 1103515245u + 12345u;
    struct job** const at = &wheel[place / 65536 % slots];
    if (*at != NULL) {
      done += (unsigned long)(*at)->number;
      free(*at);
    }
    *at = submit(i);
  }
  printf("%lu\n", done);
}

// several_table: A table in C: a buffer for each look-up, rows that grow, and cells with a header before a round size.
/* allocator: ashlar */
struct cell {
  struct cell* next;
  char bytes[1024];
};

static unsigned look_up(const char* name, unsigned row) {
  char* const key = got(malloc(64)); /* planted: short_lived */
  const int n = snprintf(key, 64, "%s:%u", name, row);
  unsigned sum = 0;
  for (int i = 0; i < n; ++i) sum = sum * 33 + (unsigned char)key[i];
  free(key);
  return sum;
}

PROGRAM(several_table) {
  struct cell* cells = NULL;
  unsigned* row = NULL;
  size_t used = 0, room = 0;
  unsigned sum = 0;
  for (unsigned i = 0; i < 12000; ++i) {
    sum += look_up("a row of the table", i);
    if (used == room) {
      room += 4;
      row = got(realloc(row, room * sizeof *row)); /* planted: growth */
    }
    row[used++] = sum;
    if (i % 8 == 0) {
      struct cell* const c = got(malloc(sizeof *c)); /* planted: slack */
      memset(c, 0, sizeof *c);
      c->next = cells;
      cells = c;
    }
  }
  printf("%u\n", sum);
}

// slack_records: glibc gives 288 bytes for 272, and 272 for 264.
struct fixed_record {
  struct fixed_record* next;
  char text[264];
};

PROGRAM(slack_records) {
  struct fixed_record* all = NULL;
  for (int i = 0; i < 6000; ++i) {
    struct fixed_record* const r = got(malloc(sizeof *r)); /* planted: slack */
    memset(r->text, i, sizeof r->text);
    r->next = all;
    all = r;
  }
  printf("%d\n", all->text[0]);
}

// short_lived_wrapped: Memory from a function that ends the program where there is none, as many C programs have.
static void* __attribute__((noinline)) xmalloc(size_t n) {
  void* const p = got(malloc(n));
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
  char* const lower = xstrdup(name); /* planted: short_lived */
  for (char* c = lower; *c != 0; ++c) *c = (char)(*c | 0x20);
  const size_t same = strcmp(lower, with->name) == 0;
  free(lower);
  return same;
}

PROGRAM(short_lived_wrapped) {
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
}

// untouched_sparse: A table by number, of which every page has an entry in use: the pages are in memory, though most bytes are not used. Page bits do not show that.
PROGRAM(untouched_sparse) {
  enum { entries = 1 << 20, used = entries / 256 };
  long* const table = got(calloc(entries, sizeof *table)); /* missed: untouched */
  for (long i = 0; i < used; ++i) table[i * 256 + 17] = i;
  long sum = 0;
  for (long i = 0; i < entries; i += 4096) sum += table[i + 17];
  printf("%ld\n", sum);
  free(table);
}

// untouched_stacks: Coroutines with a stack each of the size of a thread's, of which they use little.
enum { coroutines = 24, stack_bytes = 1 << 20 };

static long run(char* stack, int depth) {
  memset(stack + stack_bytes - depth, depth & 127, (size_t)depth); /* from the top down */
  return stack[stack_bytes - 1];
}

PROGRAM(untouched_stacks) {
  char* stacks[coroutines];
  long sum = 0;
  for (int i = 0; i < coroutines; ++i) {
    stacks[i] = got(aligned_alloc(4096, stack_bytes)); /* planted: untouched */
  }
  for (int round = 1; round <= 20; ++round)
    for (int i = 0; i < coroutines; ++i) sum += run(stacks[i], 400 * round);
  for (int i = 0; i < coroutines; ++i) free(stacks[i]);
  printf("%ld\n", sum);
}
