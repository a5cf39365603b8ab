/* What to change where `ashlar report --text` points to a line of C: see findings.cpp. */
#include <stdio.h>
#include <stdlib.h>

// snippet pins_c standard
/* A pool of its own: notes lie side by side, in blocks that are large enough to be mappings. */
struct note {
  struct note* next;
  char text[56];
};
static struct note* free_notes;

static struct note* make_note(void) {
  if (free_notes == NULL) {
    enum { count = 256 * 1024 / sizeof(struct note) };
    struct note* const more = malloc(count * sizeof *more);
    for (size_t i = 0; more != NULL && i < count; ++i) {
      more[i].next = free_notes;
      free_notes = &more[i];
    }
  }
  struct note* const taken = free_notes;
  if (taken != NULL) free_notes = taken->next;
  return taken;
}

static void drop_note(struct note* old) {
  old->next = free_notes;
  free_notes = old;
}
// end

int main(void) {
  struct note* const first = make_note();
  if (first == NULL) return 1;
  drop_note(first);
  printf("%s note\n", make_note() == first ? "the same" : "another");
  return 0; /* the system takes the pool back */
}
