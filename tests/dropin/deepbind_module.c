/* A module that allocates and frees. */
#include <stdlib.h>
#include <string.h>

void* its_malloc(void);
void* make_block(size_t size);
void take_block(void* block);

void* its_malloc(void) {
  void* (*found)(size_t) = &malloc;
  void* address;
  memcpy(&address, &found, sizeof address); /* ISO C has no conversion */
  return address;
}
void* make_block(size_t size) {
  return malloc(size);
}
void take_block(void* block) {
  free(block);
}
