// madvise succeeds and does nothing, as under some emulators and sandboxes. Zeroed memory is zero all the same, and what
// was freed and given back is no block in use.
#include "outside.h"

static int ignore_madvise(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int is_zero(const char* p, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    if (p[i] != 0) return 0;
  return 1;
}

int main(void) {
  if (!ignore_madvise()) return 77;
  static const size_t sizes[] = {16, 300, 5000, 40000, 120000, 300000, 2000000, 9000000};
  enum { kinds = sizeof sizes / sizeof *sizes, bytes_a_kind = 2000000 };
  static char* blocks[bytes_a_kind / 16];
  unsigned not_zero = 0;
  for (int round = 0; round < 2; ++round) {
    for (int k = 0; k < kinds; ++k) {
      const size_t size = sizes[k], count = bytes_a_kind / size + 1;
      for (size_t i = 0; i < count; ++i) {
        blocks[i] = calloc(1, size);
        not_zero += !is_zero(blocks[i], size);
        memset(blocks[i], 0xa5, size);
      }
      if (round % 2 == 0) malloc_trim(0);
      for (size_t i = 0; i < count; ++i) free(blocks[i]);
      if (round % 2 == 1) malloc_trim(0);
    }
    malloc_trim(0);
    // What was moved leaves its old place.
    char* grown = calloc(1, 1000000);
    for (size_t bytes = 1000000; bytes < 20000000; bytes = bytes * 3 / 2) {
      grown = realloc(grown, bytes);
      memset(grown, 0x5a, bytes);
      char* beside = calloc(1, bytes / 2);
      not_zero += !is_zero(beside, bytes / 2);
      free(beside);
    }
    free(grown);
    malloc_trim(0);
  }
  printf("%u blocks of calloc were not zero\n", not_zero);
}
