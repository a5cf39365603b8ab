#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node* next;
  char name[24];
};

static void close_node(struct node* n) { free(n); }

int main(void) {
  struct node* n = malloc(sizeof(struct node));
  strcpy(n->name, "the only one");
  close_node(n);
  close_node(n);
  return 0;
}
