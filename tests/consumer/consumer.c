/* A C99 program that uses the installed library. */
#include <stdio.h>
#include <string.h>

#include <ashlar/ashlar.h>

int main(void) {
  char* text = xmalloc(100);
  if (text == NULL) return 1;
  strcpy(text, "c");
  text = xrealloc(text, 100000);
  if (text == NULL || strcmp(text, "c") != 0 || xusable_size(text) < 100000) return 1;
  xfree(text);
  int* numbers = xcalloc(1000, sizeof *numbers);
  if (numbers == NULL || numbers[999] != 0) return 1;
  struct ashlar_stats stats;
  ashlar_stats_get(&stats);
  if (stats.total.bytes_in_use < 1000 * sizeof *numbers) return 1;
  xfree(numbers);
  puts("consumer: c");
  return 0;
}
