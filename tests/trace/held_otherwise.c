// Memory that malloc does not have, or that nobody touches: what is resident is known by its word.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { mib = 1 << 20 };
static char table[20 * mib];

__attribute__((noinline)) static char* map(size_t bytes) {
  char* const memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(3);
  return memory;
}

__attribute__((noinline)) static char* grow(char* memory, size_t bytes, size_t to) {
  memory = mremap(memory, bytes, to, MREMAP_MAYMOVE);
  if (memory == MAP_FAILED) exit(3);
  return memory;
}

__attribute__((noinline)) static char* attach(size_t bytes) {
  const int segment = shmget(IPC_PRIVATE, bytes, 0600);
  char* const memory = segment < 0 ? (char*)-1 : shmat(segment, NULL, 0);
  shmctl(segment, IPC_RMID, NULL);
  if (memory == (char*)-1) exit(3);
  return memory;
}

// As many call stacks as there are ways.
__attribute__((noinline)) static void* by_way(int calls, int way) {
  void* block = NULL;
  if (calls == 0) return malloc(64);
  if (way & 1) {
    block = by_way(calls - 1, way >> 1);
    __asm__ volatile("# left" : "+r"(block));
  } else {
    block = by_way(calls - 1, way >> 1);
    __asm__ volatile("# right" : "+r"(block));
  }
  return block;
}

int main(int count, char** words) {
  const char* const what = count > 1 ? words[1] : "";
  char* const block = malloc(mib);
  if (block == NULL) return 3;
  memset(block, 1, mib);
  if (strcmp(what, "mapped") == 0) {
    memset(map(200 * mib), 1, 200 * mib);
    usleep(100000);
    return 0;  // the block lives, whichever look sees most
  } else if (strcmp(what, "moved") == 0) {
    char* const gone = map(32 * mib);
    char* const grown = grow(map(mib), mib, 64 * mib);
    munmap(gone, 32 * mib);
    memset(grown, 1, 64 * mib);
    memset(map(16 * mib), 1, 16 * mib);
    usleep(100000);
  } else if (strcmp(what, "segments") == 0) {
    shmdt(attach(16 * mib));
    memset(attach(30 * mib), 1, 30 * mib);
    usleep(100000);
  } else if (strcmp(what, "untouched") == 0) {
    if (malloc((size_t)800 * mib) == NULL) return 3;
    usleep(100000);
  } else if (strcmp(what, "freed") == 0) {
    // The last one keeps the others in memory that are free.
    char* blocks[1000];
    for (int i = 0; i < 1000; ++i) memset(blocks[i] = malloc(64 << 10), 1, 64 << 10);
    for (int i = 0; i < 999; ++i) free(blocks[i]);
    usleep(100000);
    if (count > 2) execl(words[2], words[2], "shown", NULL);
  } else if (strcmp(what, "ways") == 0) {
    for (int way = 0; way < 1 << 12; ++way) free(by_way(12, way));
  } else if (strcmp(what, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      memset(map(60 * mib), 1, 60 * mib);
      free(malloc(100));
      exit(0);
    }
    memset(map(20 * mib), 1, 20 * mib);
    waitpid(child, NULL, 0);
  } else if (strcmp(what, "shared") == 0) {
    memset(map(40 * mib), 1, 40 * mib);
    int ready[2], end[2];
    char byte = 0;
    if (pipe(ready) != 0 || pipe(end) != 0) return 1;
    for (int i = 0; i < 2; ++i) {
      if (fork() != 0) continue;
      close(end[1]);
      free(malloc(100));
      memset(map(10 * mib), 1, 10 * mib);
      exit(write(ready[1], &byte, 1) == 1 && read(end[0], &byte, 1) == 0 ? 0 : 1);
    }
    for (int i = 0; i < 2; ++i)
      if (read(ready[0], &byte, 1) != 1) return 1;
    usleep(1000000);  // all three have all of it
    close(end[1]);
    while (wait(NULL) > 0) {
    }
  } else if (strcmp(what, "killed") == 0) {
    memset(map(50 * mib), 1, 50 * mib);
    usleep(300000);
    kill(getpid(), 9);
  } else if (strcmp(what, "signals") == 0) {  // and what is shared, and static
    stack_t stack = {.ss_sp = malloc(mib / 4), .ss_size = mib / 4};
    if (sigaltstack(&stack, NULL) != 0) return 1;
    memset(&stack, 0, sizeof stack);
    void* const written =
        mmap(NULL, 30 * mib, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (written == MAP_FAILED) return 1;
    memset(written, 1, 30 * mib);
    memset(table, 1, sizeof table);
  } else if (strcmp(what, "shown") == 0) {
    puts("plain");
  }
  free(block);
  return 0;
}
