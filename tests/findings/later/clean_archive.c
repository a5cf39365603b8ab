/* Files of an archive are unpacked: the directory is read first, and the blocks of data go as they
   come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct file {
  char name[48];
  long bytes;
};

int main(void) {
  enum { files = 1200, blocks = 25, open = 200 };
  static struct file* directory[files];
  static char* data[open];
  for (int i = 0; i < files; ++i) {
    directory[i] = malloc(sizeof **directory);
    if (directory[i] == NULL) abort();
    snprintf(directory[i]->name, sizeof directory[i]->name, "file%d", i);
    directory[i]->bytes = 0;
  }
  for (int i = 0; i < files * blocks; ++i) {
    char** const slot = &data[i * 7 % open];
    free(*slot);
    *slot = malloc(300 + (size_t)i * 37 % 1500);
    if (*slot == NULL) abort();
    (*slot)[0] = 'd';
    directory[i / blocks]->bytes += (*slot)[0];
  }
  long sum = 0;
  for (int i = 0; i < files; ++i) sum += directory[i]->bytes;
  printf("%ld\n", sum);
  return 0;
}
