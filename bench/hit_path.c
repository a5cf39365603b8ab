// bench/hit_path.c: the smallest caller of the malloc interface, for counting its instructions under
// callgrind. hit_path.py runs it with N and with 2N iterations; start-up and the first refill are
// in both and cancel out. It finds the calls by the markers at the ends of their lines. Usage:
// hit_path SIZE COUNT
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// C++'s operator delete(void*, std::size_t), which is what containers call.
void delete_sized(void* block, size_t size_bytes) __asm__("_ZdlPvm");

// The empty asm hides where the address came from, so that no pair can be optimised away.
static inline void* opaque(void* block) {
  __asm__ volatile("" : "+r"(block));
  return block;
}

// NOLINTBEGIN(clang-analyzer-unix.Malloc,clang-analyzer-unix.MismatchedDeallocator): the analyser
// loses the addresses in the asm
__attribute__((noinline)) static void hit_loop(size_t size_bytes, unsigned long count) {
  const size_t alignment = size_bytes < 64 ? size_bytes : 64;
  for (unsigned long i = 0; i < count; ++i) {
    void* block = malloc(size_bytes);  // counted as malloc
    block = opaque(block);
    (void)opaque((void*)malloc_usable_size(block));  // counted as usable_size
    block = realloc(block, size_bytes);              // counted as realloc
    block = opaque(block);
    free(block);                    // counted as free
    block = calloc(1, size_bytes);  // counted as calloc
    block = opaque(block);
    memset(block, 0, size_bytes);                  // counted as clearing
    delete_sized(block, size_bytes);               // counted as delete_sized
    block = aligned_alloc(alignment, size_bytes);  // counted as aligned_alloc
    block = opaque(block);
    free(block);
  }
}
// NOLINTEND(clang-analyzer-unix.Malloc,clang-analyzer-unix.MismatchedDeallocator)

int main(int argc, char** argv) {
  if (argc != 3) {
    fputs("usage: hit_path SIZE COUNT\n", stderr);
    return 2;
  }
  hit_loop(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
  return 0;
}
