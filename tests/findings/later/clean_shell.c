/* Reads commands of any length with getline, keeps the last hundred, and looks up words in a sorted table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void* a, const void* b) {
  return strcmp(*(const char* const*)a, *(const char* const*)b);
}

int main(void) {
  const char* words[] = {"cat", "echo", "ls", "make", "sed", "sort"};
  char* history[100] = {0};
  size_t kept = 0, known = 0, room = 0;
  char* line = NULL;
  FILE* const in = tmpfile();
  if (in == NULL) return 1;
  for (int i = 0; i < 900; ++i)
    fprintf(in, "%s with argument %d %.*s\n", words[i % 6], i, i % 70,
            "----------------------------------------------------------------------");
  rewind(in);
  while (getline(&line, &room, in) > 0) {
    char word[16] = {0};
    sscanf(line, "%15s", word);
    const char* const key = word;
    known += bsearch(&key, words, 6, sizeof *words, compare) != NULL;
    free(history[kept % 100]);
    history[kept++ % 100] = strdup(line);
  }
  for (size_t i = 0; i < 100; ++i) free(history[i]);
  free(line);
  fclose(in);
  printf("%zu of %zu\n", known, kept);
  return 0;
}
