/* A C file of a program built with STATIC_POOLS. By itself it must not link. */
#include "xallocator.h"

void* block_of_the_c_file(size_t size);
void* block_of_the_c_file(size_t size) { return xmalloc(size); }

#ifdef ALONE
int main(void) {
  UINT32 number = 1;
  WORD word = 2;
  xfree(block_of_the_c_file(number + word));
  return 0;
}
#endif
