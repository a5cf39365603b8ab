/* A compiler's symbols, made among the nodes of each function. The nodes go when all functions are
   done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  struct node* const n = malloc(sizeof *n + 32 + (size_t)operation % 9 * 24);
  if (n == NULL) abort();
  n->operation = operation;
  n->more[0] = 0;
  n->next = nodes;
  nodes = n;
}

static void declare(int number) {
  struct symbol* const s = malloc(sizeof *s); /* planted: pins */
  if (s == NULL) abort();
  s->kind = number % 4;
  snprintf(s->name, sizeof s->name, "symbol%d", number);
  s->next = symbols;
  symbols = s;
}

int main(void) {
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
  return 0;
}
