// While two threads allocate, the process reads its own maps and smaps: each live block lies whole
// in readable mappings.
#include "outside.h"

int main(void) {
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
