// A second C++ file with the same pools.
#include "xallocator.h"

void* block_of_the_other_file(size_t size);
void* block_of_the_other_file(size_t size) { return xmalloc(size); }
