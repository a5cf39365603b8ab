/* Holds orders and drops notes: for `ashlar diff`. Of NEWER_SHOP orders are larger, notes are gone, and
   there is an index. Compiled with -g. */
#include <stdlib.h>
#include <string.h>

#ifdef NEWER_SHOP
enum { order_bytes = 300 };
static char* add_index(void) {
  char* index = malloc(5000);
  if (index != NULL) memset(index, 1, 5000);
  return index;
}
#else
enum { order_bytes = 100 };
static void drop_note(void) {
  char* volatile note = malloc(40);
  free(note);
}
#endif

static char* make_order(void) {
  char* order = malloc(order_bytes);
  if (order != NULL) memset(order, 1, order_bytes);
  return order;
}

int main(void) {
  static char* volatile orders[100];
  for (int i = 0; i < 100; ++i) {
    orders[i] = make_order();
#ifndef NEWER_SHOP
    drop_note();
#endif
  }
#ifdef NEWER_SHOP
  static char* volatile index;
  index = add_index();
#endif
  for (int i = 0; i < 100; ++i) free(orders[i]);
  return 0;
}
