// A program that takes memory until there is none.
//   limited MIB          takes blocks of 256 KiB, at most MIB, and tells how much it got and why no more
//   limited MIB drop     the same with a cache of 24 MiB, which it drops when it is asked to
//   limited MIB group BYTES LIMIT   with ASHLAR_LIMIT=LIMIT in such a control group; 77 where none can be made
#include <cerrno>
#include <cstdlib>
#include <tests/support/limited_group.hpp>

#include <dlfcn.h>
#include <sys/wait.h>

#include <ashlar/adapt/tags.h>

enum { block_bytes = 256 * 1024, cached_max = 96, blocks_max = 4096 };
static void* cached[cached_max];
static int calls, dropped;

// What holds most: the line of the end names it.
extern "C" __attribute__((noinline)) void* hold_most(size_t size) {
  const ashlar::tag_scope here("blocks");
  void* const block = malloc(size);
  return block != nullptr ? memset(block, 1, size) : nullptr;
}

static void drop(size_t bytes_to_drop, void* argument) {
  ++*static_cast<int*>(argument);
  for (size_t freed = 0; freed < bytes_to_drop && dropped != cached_max; freed += block_bytes)
    free(cached[dropped++]);
}

static int in_group(char** words) {
  const support::limited_group group(strtoull(words[3], nullptr, 10));
  if (!group.exists()) return 77;
  const pid_t child = fork();
  if (child == 0) {
    words[2] = nullptr;
    setenv("ASHLAR_LIMIT", words[4], 1);
    if (group.enter()) execv(words[0], words);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int main(int count, char** words) {
  if (count == 5) return in_group(words);
  static void* held[blocks_max];
  const int most = count > 1 ? atoi(words[1]) * (1024 * 1024 / block_bytes) : 0;
  if (count > 2) {
    int (*on_limit)(void (*)(size_t, void*), void*, unsigned) = nullptr;
    *reinterpret_cast<void**>(&on_limit) = dlsym(RTLD_DEFAULT, "ashlar_on_limit");
    if (on_limit == nullptr || on_limit(drop, &calls, 0) != 0) return 2;
    for (int i = 0; i < cached_max; ++i) cached[i] = hold_most(block_bytes);
  }
  int got = 0;
  errno = 0;
  while (got < most && got < blocks_max && (held[got] = hold_most(block_bytes)) != nullptr) ++got;
  printf("got %d MiB: %s\n", got / 4, errno != 0 ? strerror(errno) : "all");
  if (count > 2) printf("called %d times, dropped %d MiB\n", calls, dropped / 4);
  fflush(stdout);
  for (int i = 0; i < got; ++i) free(held[i]);
  free(hold_most(block_bytes * 4));
  return 0;
}
