// sandbox.h: a sandbox that kills: the process may read, write, and make the system calls of the C
// library's malloc.
#pragma once
#include "outside.h"

// What the program may do beside malloc's calls.
enum { sandbox_threads = 1, sandbox_forks = 2, sandbox_files = 4, sandbox_all_threads = 8 };

enum { sandbox_rules_max = 128 };
struct sandbox_rules {
  struct sock_filter rule[sandbox_rules_max];
  unsigned short count;
};
static struct sandbox_rules sandbox_begin(void) {
  return (struct sandbox_rules){
      .rule = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))}, .count = 1};
}
static void sandbox_rule(struct sandbox_rules* r, int call, unsigned answer) {
  r->rule[r->count++] =
      (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1);
  r->rule[r->count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
}

static void sandbox_install(struct sandbox_rules* r, unsigned otherwise, unsigned flags) {
  r->rule[r->count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
  struct sock_fprog all = {r->count, r->rule};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &all) != 0)
    _exit(77);
}

static void sandbox_close(int may) {
  static const int of_malloc[] = {
      SYS_read,       SYS_write,         SYS_close,        SYS_exit,
      SYS_exit_group, SYS_brk,           SYS_mmap,         SYS_munmap,
      SYS_mremap,     SYS_mprotect,      SYS_madvise,      SYS_futex,
      SYS_getrandom,  SYS_clock_gettime, SYS_rt_sigreturn, SYS_sched_getaffinity};
  static const int of_threads[] = {SYS_clone,      435 /* clone3 */,   SYS_set_robust_list,
                                   334 /* rseq */, SYS_rt_sigprocmask, SYS_rt_sigaction};
  static const int of_forks[] = {SYS_clone, SYS_wait4, SYS_set_robust_list};
  struct sandbox_rules r = sandbox_begin();
  for (size_t i = 0; i < sizeof of_malloc / sizeof *of_malloc; ++i)
    sandbox_rule(&r, of_malloc[i], SECCOMP_RET_ALLOW);
  for (size_t i = 0; (may & sandbox_threads) && i < sizeof of_threads / sizeof *of_threads; ++i)
    sandbox_rule(&r, of_threads[i], SECCOMP_RET_ALLOW);
  for (size_t i = 0; (may & sandbox_forks) && i < sizeof of_forks / sizeof *of_forks; ++i)
    sandbox_rule(&r, of_forks[i], SECCOMP_RET_ALLOW);
  sandbox_rule(&r, SYS_openat,
               (may & sandbox_files) ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EACCES);
  sandbox_install(&r, SECCOMP_RET_KILL_PROCESS,
                  (may & sandbox_all_threads) ? SECCOMP_FILTER_FLAG_TSYNC : 0);
}

// Calls malloc's family in many ways, but for what needs madvise in the C library. Returns: 0, or the line that
// found something wrong.
static int sandbox_use_blocks(unsigned seed) {
  enum { count = 1000 };
  static __thread unsigned char* block[count];
  static __thread size_t size[count];
  memset(block, 0, sizeof block);
  memset(size, 0, sizeof size);
  for (int i = 0; i < 4000; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const unsigned k = seed % count;
    const size_t wanted = (seed >> 9) % 100 == 0 ? (seed >> 12) % 700000 : (seed >> 12) % 900;
    if (size[k] != 0 &&
        (block[k][0] != (unsigned char)k || block[k][size[k] - 1] != (unsigned char)k))
      return __LINE__;
    switch (seed >> 16 & 3) {
      case 0:
        free(block[k]);
        block[k] = malloc(wanted);
        break;
      case 1:
        block[k] = realloc(block[k], wanted + 1);
        break;
      case 2:
        free(block[k]);
        block[k] = calloc(wanted + 1, 1);
        if (block[k][wanted] != 0) return __LINE__;
        break;
      default:
        free(block[k]);
        block[k] = aligned_alloc(64, wanted);
    }
    size[k] = wanted;
    if (wanted != 0) block[k][0] = block[k][wanted - 1] = (unsigned char)k;
  }
  for (int k = 0; k < count; ++k) free(block[k]);
  // Large blocks, which grow, move and shrink.
  unsigned char* large = NULL;
  for (size_t bytes = 100000; bytes < 8000000; bytes += bytes / 2) {
    large = realloc(large, bytes);
    if (large == NULL) return __LINE__;
    large[bytes - 1] = 1;
  }
  large = realloc(large, 300000);
  if (malloc_usable_size(large) < 300000) return __LINE__;
  free(large);
  return 0;
}

// The same and the rest of the family.
static int sandbox_use_heap(unsigned seed) {
  const int wrong = sandbox_use_blocks(seed);
  if (wrong != 0) return wrong;
  const struct mallinfo2 figures = mallinfo2();
  if (figures.arena + figures.hblkhd == 0) return __LINE__;
  malloc_trim(0);
  free(malloc(3000));
  return 0;
}

// Returns: whether the child ended by itself, with 0. Says how it ended otherwise.
static int sandbox_ended_well(int child) {
  int status = -1;
  waitpid(child, &status, 0);
  if (status == 0) return 1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) exit(77);
  printf("a child ended with status %#x\n", (unsigned)status);
  return 0;
}
