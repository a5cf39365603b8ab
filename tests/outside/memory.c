// Blocks and pages: what malloc hands out and what a program does with its memory. Usage: outside_memory NAME
#include <tests/support/programs.h>

#include "outside.h"

// few_mappings: Many large blocks, every second one freed, again and again: the number of mappings stays far below what a process may have.
// Editions: default full hardened samples background
static int mappings(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char* line = NULL;
  size_t room = 0;
  int n = 0;
  while (getline(&line, &room, maps) > 0) ++n;
  free(line);
  fclose(maps);
  return n;
}

PROGRAM(few_mappings) {
  enum { blocks = 4000 };
  static char* all[blocks];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < blocks; ++i) {
      if (all[i] != NULL) continue;
      all[i] = (char*)malloc(4096 + (size_t)(i * 7919 % 120000));
      *all[i] = 1;
    }
    for (int i = round % 2; i < blocks; i += 2) free(all[i]), all[i] = NULL;
    malloc_trim(0);
  }
  printf("few: %d\n", mappings() < 8000);
}

// frees_touch_nothing: 2,000 blocks of 100,000 bytes that nobody wrote are freed: few pages become resident.
// Editions: default hardened samples background
PROGRAM(frees_touch_nothing) {
  static char* blocks[2000];
  for (int i = 0; i < 2000; ++i) CHECK((blocks[i] = (char*)malloc(100000)) != NULL);
  for (int i = 0; i < 2000; ++i) free(blocks[i]);
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("touched little: %d\n", used.ru_maxrss < 64 * 1024);
}

// huge_alignments: Alignments up to a gibibyte, several blocks at once; realloc of an aligned block keeps what is in it.
PROGRAM(huge_alignments) {
  for (int shift = 4; shift <= 30; ++shift) {
    size_t alignment = (size_t)1 << shift;
    char* blocks[6];
    for (int i = 0; i < 6; ++i) {
      size_t size = i == 0 ? 1 : i == 1 ? 100000 : (size_t)i * 3000;
      void* block = NULL;
      if (i % 3 == 0) block = memalign(alignment, size);
      if (i % 3 == 1) block = aligned_alloc(alignment, size);
      if (i % 3 == 2) CHECK(posix_memalign(&block, alignment, size) == 0);
      CHECK(block != NULL && (uintptr_t)block % alignment == 0 &&
            malloc_usable_size(block) >= size);
      blocks[i] = (char*)memset(block, i, size);
    }
    for (int i = 0; i < 6; ++i) {
      size_t size = i == 0 ? 1 : i == 1 ? 100000 : (size_t)i * 3000;
      blocks[i] = (char*)realloc(blocks[i], size * 3);
      CHECK(blocks[i][0] == i && blocks[i][size - 1] == i);
      if (i % 2) blocks[i] = (char*)realloc(blocks[i], 1), CHECK(blocks[i][0] == i);
      free(blocks[i]);
    }
  }
  puts("aligned");
}

// large_calloc_touches_nothing: calloc of a gibibyte, 200 times, and of many long blocks at once, in what was freed: few pages become resident, and all are zero.
// Editions: default full hardened samples background
PROGRAM(large_calloc_touches_nothing) {
  for (int i = 0; i < 200; ++i) {
    char* block = (char*)calloc(1, (size_t)1 << 30);
    CHECK(block != NULL && block[(size_t)i << 20] == 0);
    block[(size_t)i << 20] = 1;
    free(block);
  }
  char* many[20];
  for (int i = 0; i < 20; ++i) {
    many[i] = (char*)calloc(100, 400000);
    CHECK(many[i] != NULL);
    for (int k = 0; k < 40000000; k += 1000003) CHECK(many[i][k] == 0);
  }
  for (int i = 0; i < 20; ++i) free(many[i]);
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("touched little: %d\n", used.ru_maxrss < 64 * 1024);
}

// locked_memory: mlockall for all pages now and later, on fault too: large blocks, threads and reallocs go on, and after munlockall.
static void* body(void* p) {
  use_heap((unsigned)(size_t)p, 500);
  return calloc(1, 300000);
}

PROGRAM(locked_memory) {
  struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_MEMLOCK, &all);
  static const int kinds[] = {MCL_CURRENT, MCL_FUTURE | MCL_ONFAULT, MCL_CURRENT | MCL_FUTURE};
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 * 1024);
  for (int i = 0; i < 3; ++i) {
    if (mlockall(kinds[i]) != 0) exit(77);
    char* large = (char*)malloc(8 << 20);
    CHECK(large != NULL);
    large[0] = large[(8 << 20) - 1] = 5;
    large = (char*)realloc(large, 12 << 20);
    CHECK(large != NULL && large[(8 << 20) - 1] == 5);
    for (int k = 0; k < 5; ++k) {
      pthread_t t;
      void* block;
      CHECK(pthread_create(&t, &small, body, (void*)(size_t)k) == 0 &&
            pthread_join(t, &block) == 0);
      free(block);
    }
    free(large);
    use_heap((unsigned)i, 3000);
    munlockall();
    use_heap((unsigned)i, 3000);
  }
  printf("resident little: %d\n", resident_kib() < 300 * 1024);
}

// madvise_that_does_nothing: madvise succeeds and does nothing, as under some emulators and sandboxes. Zeroed memory is zero all the same, and what was freed and given back is no block in use.
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

PROGRAM(madvise_that_does_nothing) {
  if (!ignore_madvise()) exit(77);
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

// readers_of_the_maps: While two threads allocate, the process reads its own maps and smaps: each live block lies whole in readable mappings.
PROGRAM(readers_of_the_maps) {
  enum { count = 60 };
  char* blocks[count];
  begin_busy(2);
  for (int i = 0; i < count; ++i) blocks[i] = (char*)malloc((size_t)16 << i % 15);
  for (int round = 0; round < 10; ++round) {
    size_t covered[count] = {0};
    FILE* maps = fopen(round % 2 ? "/proc/self/smaps" : "/proc/self/maps", "r");
    char* line = NULL;
    size_t room = 0, from, to;
    char rights[8];
    while (getline(&line, &room, maps) > 0) {
      if (sscanf(line, "%zx-%zx %7s", &from, &to, rights) != 3 || strncmp(rights, "rw", 2) != 0)
        continue;
      for (int i = 0; i < count; ++i) {
        size_t begin = (size_t)blocks[i], end = begin + ((size_t)16 << i % 15);
        if (begin < from) begin = from;
        if (end > to) end = to;
        if (begin < end) covered[i] += end - begin;
      }
    }
    for (int i = 0; i < count; ++i) CHECK(covered[i] >= (size_t)16 << i % 15);
    free(line);
    fclose(maps);
  }
  end_busy();
  puts("mapped");
}

// the_kernel_writes_into_blocks: The kernel fills blocks of every size to their last usable byte: read, readv, recvmsg, pread without the page cache.
PROGRAM(the_kernel_writes_into_blocks) {
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

// the_program_moves_the_break: The program uses brk and sbrk itself, up and down, beside malloc. What it wrote there stays.
PROGRAM(the_program_moves_the_break) {
  enum { step = 300000, steps = 12 };
  char* of_program[steps];
  for (int i = 0; i < steps; ++i) {
    use_heap((unsigned)i, 1000);
    of_program[i] = (char*)sbrk(step);
    CHECK(of_program[i] != (char*)-1);
    memset(of_program[i], 'a' + i, step);
    void* large = calloc(1, 900000);
    CHECK(((char*)large)[899999] == 0);
    free(large);
    if (i % 3 == 2 && sbrk(0) == of_program[i] + step) {
      CHECK(brk(of_program[i] + step / 2) == 0 && sbrk(step / 2) == of_program[i] + step / 2);
      CHECK(of_program[i][step - 1] == 0);
      memset(of_program[i] + step / 2, 'a' + i, step / 2);
    }
  }
  use_heap(99, 20000);
  for (int i = 0; i < steps; ++i)
    for (int k = 0; k < step; ++k) CHECK(of_program[i][k] == 'a' + i);
  puts("kept");
}

// the_program_protects_its_pages: The program closes, locks, runs and drops pages of its own blocks, as collectors and compilers do, then frees them.
enum { page = 4096 };
static char* faulting;
static int faults;
static void barrier(int s, siginfo_t* info, void* context) {
  CHECK((char*)info->si_addr >= faulting && (char*)info->si_addr < faulting + 3 * page);
  ++faults;
  mprotect(faulting, 3 * page, PROT_READ | PROT_WRITE);
}

PROGRAM(the_program_protects_its_pages) {
  struct sigaction action = {.sa_sigaction = barrier, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  for (int i = 0; i < 300; ++i) {
    faulting = (char*)memalign(page, 3 * page);
    memset(faulting, 1, 3 * page);
    mprotect(faulting, 3 * page, i % 2 ? PROT_READ : PROT_NONE);
    faulting[page * (i % 3) + 5] = 2;
    free(faulting);

    unsigned char* code = (unsigned char*)valloc(page);
    memcpy(code, "\xb8\x2a\x00\x00\x00\xc3", 6);  // return 42
    CHECK(mprotect(code, page, PROT_READ | PROT_EXEC) == 0);
#ifdef __x86_64__
    CHECK(((int (*)(void))(void*)code)() == 42);
#endif
    mprotect(code, page, PROT_READ | PROT_WRITE);
    free(code);

    char* dropped = (char*)aligned_alloc(page, 40 * page);
    memset(dropped, 3, 40 * page);
    madvise(dropped + page, 30 * page, i % 2 ? MADV_DONTNEED : MADV_COLD);
    CHECK(dropped[5 * page] == (i % 2 ? 0 : 3) && dropped[39 * page] == 3);
    mlock(dropped, 4 * page);
    munlock(dropped, 4 * page);
    madvise(dropped, 40 * page, MADV_NOHUGEPAGE);
    free(dropped);
    char* zeroed = (char*)calloc(page, 40);
    for (int k = 0; k < 40 * page; k += 64) CHECK(zeroed[k] == 0);
    free(zeroed);
    if (i % 10 == 0) use_heap((unsigned)i, 100), malloc_trim(0);
  }
  printf("faults: %d\n", faults);
}
