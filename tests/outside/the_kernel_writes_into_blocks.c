// The kernel fills blocks of every size to their last usable byte: read, readv, recvmsg, pread
// without the page cache.
#include "outside.h"

int main(void) {
  int zero = open("/dev/zero", O_RDONLY), pair[2];
  CHECK(zero >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  for (size_t size = 1; size < 600000; size += size / 9 + 1) {
    char* block = (char*)malloc(size);
    size_t usable = malloc_usable_size(block);
    memset(block, 1, usable);
    CHECK(read(zero, block, usable) == (ssize_t)usable && block[0] == 0 && block[usable - 1] == 0);
    char* grown = (char*)realloc(block, size + size / 2);
    struct iovec two[2] = {{grown, size}, {grown + size, size / 2}};
    CHECK(readv(zero, two, 2) == (ssize_t)(size + size / 2));
    if (size < 60000) {
      char* got = (char*)calloc(1, size);
      struct iovec all = {got, size};
      struct msghdr message = {.msg_iov = &all, .msg_iovlen = 1};
      memset(grown, 'k', size);
      CHECK(write(pair[0], grown, size) == (ssize_t)size);
      CHECK(recvmsg(pair[1], &message, MSG_WAITALL) == (ssize_t)size && got[size - 1] == 'k');
      free(got);
    }
    free(grown);
  }
  int self = open("/proc/self/exe", O_RDONLY | O_DIRECT);
  if (self < 0) self = open("/proc/self/exe", O_RDONLY);
  void* aligned;
  CHECK(posix_memalign(&aligned, 4096, 8192) == 0 && pread(self, aligned, 8192, 4096) > 0);
  free(aligned);
  puts("filled");
}
