/* How well the next address can be told by who knows all that came before.
 *
 * Three guessers bet on the distance from one block to the next. Each bets on the distance that was the commonest so far:
 *   fill    2,000 blocks are allocated, and none is freed
 *   reuse   of 2,000 live blocks one is freed, and one allocated: is it the one that was freed 0, 1, 2, ... before?
 * Prints "fill RIGHT of ALL" and "reuse RIGHT of ALL"; the test bounds them.
 * And the same of two processes: prints the distances of the first ones, which must differ from process to process. */
#include <tests/dropin/require.h>

enum { live = 2000, rounds = 20000, ages = 4096, size = 48 };

struct counts {
  intptr_t what[ages];
  unsigned seen[ages];
  unsigned used, best, right, all;
};

static void bet(struct counts* of, intptr_t what) {
  if (of->all++ != 0 && of->used != 0 && of->what[of->best] == what) ++of->right;
  unsigned i = 0;
  while (i < of->used && of->what[i] != what) ++i;
  if (i == ages) return;
  if (i == of->used) of->what[of->used++] = what;
  if (++of->seen[i] > of->seen[of->best]) of->best = i;
}

static struct counts fill, reuse;
static char* blocks[live];
static char* freed[rounds];

int main(void) {
  for (int i = 0; i < live; ++i) {
    blocks[i] = laundered(malloc(size));
    REQUIRE(blocks[i] != NULL);
    if (i > 0) bet(&fill, blocks[i] - blocks[i - 1]);
  }
  for (int i = 1; i <= 8; ++i) printf("%td ", blocks[i] - blocks[i - 1]);
  puts("");
  unsigned random = 12345;
  for (int i = 0; i < rounds; ++i) {
    random = random * 1103515245 + 12345;
    char** const one = &blocks[random / 65536 % live];
    freed[i] = laundered(*one);
    free(*one);
    *one = laundered(malloc(size));
    int age = 0;
    while (age < i && age < ages - 1 && freed[i - age] != *one) ++age;
    bet(&reuse, age);
  }
  printf("fill %u of %u\nreuse %u of %u\n", fill.right, fill.all, reuse.right, reuse.all);
  return 0;
}
