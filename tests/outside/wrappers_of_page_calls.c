// A program has its own mmap, munmap, mremap, mprotect and madvise, which allocate.
#include <malloc.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "wrappers.h"

void* mmap(void* p, size_t bytes, int protection, int flags, int file, off_t offset) {
  wrapper_allocates();
  return (void*)syscall(SYS_mmap, p, bytes, protection, flags, file, offset);
}
int munmap(void* p, size_t bytes) {
  wrapper_allocates();
  return (int)syscall(SYS_munmap, p, bytes);
}
int mprotect(void* p, size_t bytes, int protection) {
  wrapper_allocates();
  return (int)syscall(SYS_mprotect, p, bytes, protection);
}
int madvise(void* p, size_t bytes, int advice) {
  wrapper_allocates();
  return (int)syscall(SYS_madvise, p, bytes, advice);
}
void* mremap(void* from, size_t before, size_t after, int flags, ...) {
  va_list more;
  va_start(more, flags);
  void* const to = va_arg(more, void*);
  va_end(more);
  wrapper_allocates();
  return (void*)syscall(SYS_mremap, from, before, after, flags, to);
}

int main(void) {
  wrapper_use_heap();
  malloc_trim(0);
  const pid_t child = fork();
  if (child == 0) {
    wrapper_use_heap();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  void* const mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("%d %d\n", status, munmap(mapped, 4096));
}
