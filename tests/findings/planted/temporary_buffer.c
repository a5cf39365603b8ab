/* A checksum that works in a buffer of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned checksum(const char* text, size_t length) {
  char* const copy = malloc(length + 1); /* planted: temporary */
  unsigned sum = 0;
  if (copy == NULL) abort();
  memcpy(copy, text, length + 1);
  for (size_t i = 0; i < length; ++i) sum = sum * 31 + (unsigned char)(copy[i] ^ 0x20);
  free(copy);
  return sum;
}

int main(void) {
  static const char line[] = "a line of text that is summed up again and again";
  unsigned all = 0;
  for (size_t i = 0; i < 30000; ++i) all += checksum(line, i % (sizeof line - 1));
  printf("%u\n", all);
  return 0;
}
