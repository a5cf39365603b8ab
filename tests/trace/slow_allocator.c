/* The C library's allocator behind the recorder, but each call takes CALL_MICROSECONDS at least: so the times of events
 * tell on which side of a call they were taken. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}
static void take_a_while(void) {
  const long long end = now() + CALL_MICROSECONDS * 1000LL;
  while (now() < end) {
  }
}
static void* after_a_while(void* block) {
  take_a_while();
  return block;
}

void* malloc(size_t size) { return after_a_while(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) { return after_a_while(__libc_calloc(count, size)); }
void* realloc(void* block, size_t size) { return after_a_while(__libc_realloc(block, size)); }
void* memalign(size_t alignment, size_t size) {
  return after_a_while(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
void* valloc(size_t size) { return memalign((size_t)getpagesize(), size); }
int posix_memalign(void** result, size_t alignment, size_t size) {
  void* const block = memalign(alignment, size);
  if (block == NULL) return ENOMEM;
  *result = block;
  return 0;
}
void free(void* block) {
  take_a_while();
  __libc_free(block);
}
