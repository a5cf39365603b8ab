/* A server that frees the buffer of each request, but not the name of its client. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char* name_of(int number) {
  char* const name = malloc(1000 + (size_t)number % 7); /* planted: leak */
  if (name == NULL) abort();
  snprintf(name, 1000, "client %d", number);
  return name;
}

static size_t serve(int number) {
  char* const answer = calloc(1, 3000 + (size_t)number % 11);
  if (answer == NULL) abort();
  strcpy(answer, name_of(number));
  const size_t length = strlen(answer);
  free(answer);
  return length;
}

int main(void) {
  size_t sent = 0;
  for (int i = 0; i < 300; ++i) {
    sent += serve(i);
    usleep(8000);
  }
  printf("%zu\n", sent);
  return 0;
}
