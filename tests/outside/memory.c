// Blocks and pages: what malloc hands out and what a program does with its memory. Usage: outside_memory NAME
#include "outside.h"

// every_usable_byte: All of malloc_usable_size may be written, at every size and alignment, while all neighbours live; addresses are aligned as max_align_t, and of small blocks as much as fits.
enum { most = 1800 };
static unsigned char* blocks[3][most];

static void fill(unsigned char* block, int value) {
  memset(block, value, malloc_usable_size(block));
}
static void look(const unsigned char* block, int value) {
  for (size_t i = 0; i < malloc_usable_size((void*)block); ++i)
    CHECK(block[i] == (unsigned char)value);
}

static int every_usable_byte(void) {
  for (int n = 0; n < most; ++n) {
    blocks[0][n] = (unsigned char*)malloc((size_t)n);
    blocks[1][n] = (unsigned char*)calloc(1, (size_t)n * 7);
    blocks[2][n] = (unsigned char*)memalign((size_t)16 << n % 9, (size_t)n);
    for (int k = 0; k < 3; ++k) {
      CHECK(malloc_usable_size(blocks[k][n]) >= (size_t)n && (uintptr_t)blocks[k][n] % 16 == 0);
      fill(blocks[k][n], n + k);
    }
  }
  for (int n = 0; n < most; ++n)
    for (int k = 0; k < 3; ++k) look(blocks[k][n], n + k);
  for (int n = 0; n < most; n += 2)
    for (int k = 0; k < 3; ++k) {
      size_t usable = malloc_usable_size(blocks[k][n]);
      blocks[k][n] = (unsigned char*)realloc(blocks[k][n], usable + 1);
      for (size_t i = 0; i < usable; ++i) CHECK(blocks[k][n][i] == (unsigned char)(n + k));
      fill(blocks[k][n], n + k);
    }
  for (int n = 0; n < most; ++n)
    for (int k = 0; k < 3; ++k) look(blocks[k][n], n + k), free(blocks[k][n]);
  puts("written");
  return 0;
}

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

static int few_mappings(void) {
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
  return 0;
}

// frees_touch_nothing: 2,000 blocks of 100,000 bytes that nobody wrote are freed: few pages become resident.
// Editions: default hardened samples background
static int frees_touch_nothing(void) {
  static char* blocks[2000];
  for (int i = 0; i < 2000; ++i) CHECK((blocks[i] = (char*)malloc(100000)) != NULL);
  for (int i = 0; i < 2000; ++i) free(blocks[i]);
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("touched little: %d\n", used.ru_maxrss < 64 * 1024);
  return 0;
}

// huge_alignments: Alignments up to a gibibyte, several blocks at once; realloc of an aligned block keeps what is in it.
static int huge_alignments(void) {
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
  return 0;
}

// large_blocks_grow_and_shrink: realloc of large blocks: every page keeps its content over growth, moves and shrinking; what cannot be had leaves it alone; other blocks are in the way.
static void mark(size_t* block, size_t from, size_t to) {
  for (size_t i = (from + 4095) / 4096 * 512; (i + 1) * 8 <= to; i += 512)
    block[i] = i * 2654435761u;
}
static void look_shrink(const size_t* block, size_t to) {
  for (size_t i = 0; (i + 1) * 8 <= to; i += 512) CHECK(block[i] == i * 2654435761u);
}

static int large_blocks_grow_and_shrink(void) {
  size_t *a = NULL, *b = NULL, size = 0;
  for (size_t next = 3000; next < (size_t)80 << 20; next += next / 2 + 777) {
    a = (size_t*)realloc(a, next);
    b = (size_t*)realloc(b, next);
    mark(a, size, next);
    mark(b, size, next);
    look_shrink(a, next);
    size = next;
    errno = 0;
    CHECK(realloc(a, (size_t)1 << 60) == NULL && errno == ENOMEM);
    look_shrink(a, size);
  }
  look_shrink(b, size);
  for (; size > 1000; size = size * 3 / 5) {
    a = (size_t*)realloc(a, size);
    b = (size_t*)realloc(b, size + 1);
    look_shrink(a, size);
    look_shrink(b, size);
    CHECK(malloc_usable_size(a) >= size);
  }
  free(b);
  size = 5 << 20;
  a = (size_t*)realloc(a, size);
  mark(a, 0, size);
  for (int i = 0; i < 150; ++i) {
    size_t next = size + 40000;
    a = (size_t*)realloc(a, next);
    void* in_the_way = malloc(300000);
    mark(a, size, next);
    size = next;
    if (i % 50 == 0) look_shrink(a, size);
    free(in_the_way);
  }
  look_shrink(a, size);
  free(a);
  printf("kept\n");
  return 0;
}

// large_calloc_touches_nothing: calloc of a gibibyte, 200 times, and of many long blocks at once, in what was freed: few pages become resident, and all are zero.
// Editions: default full hardened samples background
static int large_calloc_touches_nothing(void) {
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
  return 0;
}

// locked_memory: mlockall for all pages now and later, on fault too: large blocks, threads and reallocs go on, and after munlockall.
static void* body(void* p) {
  use_heap((unsigned)(size_t)p, 500);
  return calloc(1, 300000);
}

static int locked_memory(void) {
  struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_MEMLOCK, &all);
  static const int kinds[] = {MCL_CURRENT, MCL_FUTURE | MCL_ONFAULT, MCL_CURRENT | MCL_FUTURE};
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 * 1024);
  for (int i = 0; i < 3; ++i) {
    if (mlockall(kinds[i]) != 0) return 77;
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
  return 0;
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

static int madvise_that_does_nothing(void) {
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
  return 0;
}

// posix_memalign_at_the_limits: posix_memalign of wrong alignments, and of more than there is: EINVAL and ENOMEM are returned, and the caller's pointer does not change. The other aligned calls set errno. With and without a limit of addresses.
static void* const untouched = (void*)0x1234;

static const char* name(int error) {
  return error == 0        ? "0"
         : error == EINVAL ? "EINVAL"
         : error == ENOMEM ? "ENOMEM"
         : error == 77     ? "kept"
                           : "?";
}

static void posix(size_t alignment, size_t size) {
  void* p = untouched;
  const int result = posix_memalign(&p, alignment, size);  // glibc also sets errno
  printf("%zx %zx: %s", alignment, size, name(result));
  if (result != 0) {
    puts(p == untouched ? "" : ", pointer changed");
    return;
  }
  puts((uintptr_t)p % alignment == 0 ? ", aligned" : ", not aligned");
  if (size != 0) memset(p, 1, size < 100000 ? size : 100000);
  free(p);
}

static void others(size_t alignment, size_t size) {
  errno = 77;
  void* p = memalign(alignment, size);
  printf("memalign %zx %zx: %s, errno %s\n", alignment, size, p == 0 ? "null" : "block",
         name(errno));
  free(p);
  errno = 77;
  p = aligned_alloc(alignment, size);
  printf("aligned_alloc: %s, errno %s\n", p == 0 ? "null" : "block", name(errno));
  free(p);
}

static void all(void) {
  static const size_t wrong[] = {0,  1,  2,   4,    3,    7,        12,           24,
                                 40, 48, 100, 4095, 4097, SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2};
  static const size_t right[] = {8, 16, 64, 256, 4096, 65536, 1 << 20};
  static const size_t small[] = {0, 1, 100, 5000, 200000};
  static const size_t huge[] = {PTRDIFF_MAX - 100000,
                                PTRDIFF_MAX - 4096,
                                PTRDIFF_MAX - 1,
                                PTRDIFF_MAX,
                                (size_t)PTRDIFF_MAX + 1,
                                SIZE_MAX - (2 << 20),
                                SIZE_MAX - 65536,
                                SIZE_MAX - 4097,
                                SIZE_MAX - 4096,
                                SIZE_MAX - 4095,
                                SIZE_MAX - 64,
                                SIZE_MAX - 16,
                                SIZE_MAX - 8,
                                SIZE_MAX - 1,
                                SIZE_MAX,
                                (size_t)1 << 48,
                                (size_t)1 << 62};
  for (size_t a = 0; a < sizeof wrong / sizeof *wrong; ++a) {
    for (size_t i = 0; i < sizeof small / sizeof *small; ++i) posix(wrong[a], small[i]);
    for (size_t i = 0; i < sizeof huge / sizeof *huge; ++i) posix(wrong[a], huge[i]);
  }
  for (size_t a = 0; a < sizeof right / sizeof *right; ++a) {
    for (size_t i = 0; i < sizeof small / sizeof *small; ++i) posix(right[a], small[i]);
    for (size_t i = 0; i < sizeof huge / sizeof *huge; ++i) {
      posix(right[a], huge[i]);
      others(right[a], huge[i]);
    }
  }
  // An alignment as large as there are addresses.
  for (size_t alignment = (size_t)1 << 48; alignment != 0; alignment <<= 1) {
    posix(alignment, 1);
    posix(alignment, SIZE_MAX - 8);
    others(alignment, 1);
  }
}

static int posix_memalign_at_the_limits(void) {
  all();
  const struct rlimit limit = {(rlim_t)3 << 30, (rlim_t)3 << 30};
  setrlimit(RLIMIT_AS, &limit);
  puts("with 3 GiB of addresses");
  all();
  posix(4096, (size_t)3 << 30);
  posix((size_t)1 << 20, (size_t)3 << 30);
  posix(64, (size_t)100 << 30);
  others(4096, (size_t)3 << 30);
  // What was refused leaves a heap that works.
  for (int i = 0; i < 100; ++i) posix(64, 10000 * i);
  return 0;
}

// readers_of_the_maps: While two threads allocate, the process reads its own maps and smaps: each live block lies whole in readable mappings.
static int readers_of_the_maps(void) {
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
  return 0;
}

// the_kernel_writes_into_blocks: The kernel fills blocks of every size to their last usable byte: read, readv, recvmsg, pread without the page cache.
static int the_kernel_writes_into_blocks(void) {
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
  return 0;
}

// the_program_moves_the_break: The program uses brk and sbrk itself, up and down, beside malloc. What it wrote there stays.
static int the_program_moves_the_break(void) {
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
  return 0;
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

static int the_program_protects_its_pages(void) {
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
  return 0;
}

static const struct program programs[] = {
    {"every_usable_byte", every_usable_byte},
    {"few_mappings", few_mappings},
    {"frees_touch_nothing", frees_touch_nothing},
    {"huge_alignments", huge_alignments},
    {"large_blocks_grow_and_shrink", large_blocks_grow_and_shrink},
    {"large_calloc_touches_nothing", large_calloc_touches_nothing},
    {"locked_memory", locked_memory},
    {"madvise_that_does_nothing", madvise_that_does_nothing},
    {"posix_memalign_at_the_limits", posix_memalign_at_the_limits},
    {"readers_of_the_maps", readers_of_the_maps},
    {"the_kernel_writes_into_blocks", the_kernel_writes_into_blocks},
    {"the_program_moves_the_break", the_program_moves_the_break},
    {"the_program_protects_its_pages", the_program_protects_its_pages},
};
int main(int count, char** arguments) {
  return run_program(count, arguments, programs, sizeof programs / sizeof *programs);
}
