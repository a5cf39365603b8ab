// The program closes, locks, runs and drops pages of its own blocks, as collectors and compilers
// do, then frees them.
#include "outside.h"

enum { page = 4096 };
static char* faulting;
static int faults;
static void barrier(int s, siginfo_t* info, void* context) {
  CHECK((char*)info->si_addr >= faulting && (char*)info->si_addr < faulting + 3 * page);
  ++faults;
  mprotect(faulting, 3 * page, PROT_READ | PROT_WRITE);
}

int main(void) {
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
