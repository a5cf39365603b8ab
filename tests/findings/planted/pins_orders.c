/* A backlog of messages is worked off. Each 40th leaves an order that stays open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct order {
  struct order* next;
  double price;
  int amount;
};
struct message {
  struct message* next;
  int number;
  char text[1];
};

static struct order* add_order(struct order* all, int number) {
  struct order* const made = malloc(sizeof *made); /* planted: pins */
  if (made == NULL) abort();
  made->next = all;
  made->price = number;
  made->amount = number % 10;
  return made;
}

int main(void) {
  struct order* orders = NULL;
  struct message* first = NULL;
  struct message** last = &first;
  for (int i = 0; i < 50000; ++i) {
    const size_t length = 80 + (size_t)i % 12 * 16;
    struct message* const m = malloc(sizeof *m + length);
    if (m == NULL) abort();
    memset(m->text, 'm', length);
    m->next = NULL;
    m->number = i;
    *last = m;
    last = &m->next;
    if (i % 40 == 0) orders = add_order(orders, i);
  }
  double sum = 0;
  while (first != NULL) {
    struct message* const done = first;
    first = done->next;
    sum += done->number;
    free(done);
  }
  for (int round = 0; round < 1000; ++round)
    for (const struct order* o = orders; o != NULL; o = o->next) sum += o->price * o->amount;
  printf("%.0f\n", sum);
  return 0;
}
