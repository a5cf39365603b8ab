/* Frees twice, writes behind a block and ends with 0: for `ashlar check`. Compiled with -g. */
#include <stdlib.h>
#include <string.h>

static char* make_order(void) {
  char* order = malloc(100);
  if (order != NULL) memset(order, 1, 100);
  return order;
}
static void drop_order(char* order) { free(order); }

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) return 3;
  char* volatile order = make_order();
  drop_order(order);
  drop_order(order);
  order = make_order();
  order[100] = 1;
  drop_order(order);
  return 0;
}
