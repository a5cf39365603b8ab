// bench/hit_path.c: the smallest caller of the malloc interface, for counting its instructions under
// callgrind. hit_path.py runs it with N and with 2N iterations; start-up and the first refill are
// in both and cancel out. It finds the calls by the markers at the ends of their lines. Usage:
// hit_path SIZE COUNT
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// C++'s operators, by the names that they are exported with.
extern const char nothrow_tag __asm__("_ZSt7nothrow");
void* new_plain(size_t size_bytes) __asm__("_Znwm");
void* new_array(size_t size_bytes) __asm__("_Znam");
void* new_nothrow(size_t size_bytes, const void* tag) __asm__("_ZnwmRKSt9nothrow_t");
void* new_array_nothrow(size_t size_bytes, const void* tag) __asm__("_ZnamRKSt9nothrow_t");
void* new_aligned(size_t size_bytes, size_t alignment) __asm__("_ZnwmSt11align_val_t");
void* new_array_aligned(size_t size_bytes, size_t alignment) __asm__("_ZnamSt11align_val_t");
void delete_plain(void* block) __asm__("_ZdlPv");
void delete_array(void* block) __asm__("_ZdaPv");
void delete_sized(void* block, size_t size_bytes) __asm__("_ZdlPvm");
void delete_array_sized(void* block, size_t size_bytes) __asm__("_ZdaPvm");
void delete_nothrow(void* block, const void* tag) __asm__("_ZdlPvRKSt9nothrow_t");
void delete_aligned(void* block, size_t alignment) __asm__("_ZdlPvSt11align_val_t");
void delete_array_aligned(void* block, size_t alignment) __asm__("_ZdaPvSt11align_val_t");
void delete_sized_aligned(void* block, size_t size_bytes,
                          size_t alignment) __asm__("_ZdlPvmSt11align_val_t");
void delete_array_sized_aligned(void* block, size_t size_bytes,
                                size_t alignment) __asm__("_ZdaPvmSt11align_val_t");

// The empty asm hides where the address came from, so that no pair can be optimised away.
static inline void* opaque(void* block) {
  __asm__ volatile("" : "+r"(block));
  return block;
}

// NOLINTBEGIN(clang-analyzer-unix.Malloc,clang-analyzer-unix.MismatchedDeallocator): the analyser
// loses the addresses in the asm
__attribute__((noinline)) static void c_loop(size_t size_bytes, unsigned long count) {
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
    memset(block, 0, size_bytes);  // counted as clearing
    free(block);
    block = aligned_alloc(alignment, size_bytes);  // counted as aligned_alloc
    block = opaque(block);
    free(block);
    block = memalign(alignment, size_bytes);  // counted as memalign
    block = opaque(block);
    free(block);
    if (posix_memalign(&block, alignment, size_bytes) != 0) exit(3);  // counted as posix_memalign
    block = opaque(block);
    free(block);
  }
}

__attribute__((noinline)) static void cxx_loop(size_t size_bytes, unsigned long count) {
  const size_t alignment = size_bytes < 64 ? size_bytes : 64;
  for (unsigned long i = 0; i < count; ++i) {
    void* block = opaque(new_plain(size_bytes));                  // counted as new
    delete_plain(block);                                          // counted as delete
    block = opaque(new_array(size_bytes));                        // counted as new_array
    delete_array(block);                                          // counted as delete_array
    block = opaque(new_nothrow(size_bytes, &nothrow_tag));        // counted as new_nothrow
    delete_nothrow(block, &nothrow_tag);                          // counted as delete_nothrow
    block = opaque(new_array_nothrow(size_bytes, &nothrow_tag));  // counted as new_array_nothrow
    delete_sized(block, size_bytes);                              // counted as delete_sized
    block = opaque(new_aligned(size_bytes, alignment));           // counted as new_aligned
    delete_aligned(block, alignment);                             // counted as delete_aligned
    block = opaque(new_array_aligned(size_bytes, alignment));     // counted as new_array_aligned
    delete_array_aligned(block, alignment);                       // counted as delete_array_aligned
    block = opaque(new_array(size_bytes));
    delete_array_sized(block, size_bytes);  // counted as delete_array_sized
    block = opaque(new_aligned(size_bytes, alignment));
    delete_sized_aligned(block, size_bytes, alignment);  // counted as delete_sized_aligned
    block = opaque(new_array_aligned(size_bytes, alignment));
    // clang-format off: the marker is on the line of the call
    delete_array_sized_aligned(block, size_bytes, alignment);  // counted as delete_array_sized_aligned
    // clang-format on
  }
}
// NOLINTEND(clang-analyzer-unix.Malloc,clang-analyzer-unix.MismatchedDeallocator)

int main(int argc, char** argv) {
  if (argc != 3) {
    fputs("usage: hit_path SIZE COUNT\n", stderr);
    return 2;
  }
  const size_t size_bytes = strtoul(argv[1], NULL, 10);
  const unsigned long count = strtoul(argv[2], NULL, 10);
  c_loop(size_bytes, count);
  cxx_loop(size_bytes, count);
  return 0;
}
