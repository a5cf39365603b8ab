/* dropin/huge_pages.c: the heap's memory has the flag that the argument names in /proc/self/smaps: hg (asks for huge
 * pages, and ends where one does), nh (wants none), or neither. Ends with 77 where the system has no huge pages. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { blocks = 65536, block_bytes = 1024 };

/* Returns: whether the mapping of `address` has `flag`; -1 when it is not found. `behind` is its end then. */
static int mapping_has(const void* address, const char* flag, uintptr_t* behind) {
  FILE* const maps = fopen("/proc/self/smaps", "r");
  if (maps == NULL) return -1;
  const uintptr_t wanted = (uintptr_t)address;
  char line[512];
  int inside = 0, has = -1;
  while (has < 0 && fgets(line, sizeof line, maps) != NULL) {
    uintptr_t begin = 0, end = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      inside = begin <= wanted && wanted < end;
      if (inside) *behind = end;
    } else if (inside && strncmp(line, "VmFlags:", 8) == 0)
      has = strstr(line, flag) != NULL;
  }
  fclose(maps);
  return has;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0) return 77;
  static char* all[blocks];
  for (int i = 0; i < blocks; ++i) {
    all[i] = malloc(block_bytes);
    if (all[i] == NULL) return 1;
    memset(all[i], i, block_bytes);
  }
  uintptr_t end = 0;
  const int asks = mapping_has(all[blocks - 1], " hg", &end),
            refuses = mapping_has(all[blocks - 1], " nh", &end);
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), huge_page = page / sizeof(void*) * page;
  const int right = asks == (strcmp(argv[1], "hg") == 0) &&
                    refuses == (strcmp(argv[1], "nh") == 0) && (!asks || end % huge_page == 0);
  if (!right)
    fprintf(stderr, "expected %s: hg is %d, nh is %d, end %" PRIxPTR "\n", argv[1], asks, refuses,
            end);
  for (int i = 0; i < blocks; ++i) {
    if (all[i][block_bytes / 2] != (char)i) return 1;
    free(all[i]);
  }
  return right ? 0 : 1;
}
