/* A session is three blocks. Only if all three lie elsewhere are the pages of the requests free. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
  int number;
  char* user;
  unsigned char* key;
};
enum { sessions = 1500, requests = 30 };
static struct session* open_sessions[sessions];
static char* requests_of[sessions * requests];

static struct session* begin(int number) {
  struct session* const s = malloc(sizeof *s); /* planted: pins */
  if (s == NULL) abort();
  s->number = number;
  s->user = malloc(20 + (size_t)number % 20);    /* planted: pins */
  s->key = malloc(48 + (size_t)number % 3 * 16); /* planted: pins */
  if (s->user == NULL || s->key == NULL) abort();
  sprintf(s->user, "user %d", number);
  memset(s->key, number, 48);
  return s;
}

int main(void) {
  for (int i = 0; i < sessions; ++i) {
    open_sessions[i] = begin(i);
    for (int k = 0; k < requests; ++k) {
      const size_t size = 150 + (size_t)(i + k) % 17 * 10;
      char* const request = malloc(size);
      if (request == NULL) abort();
      memset(request, k, size);
      requests_of[i * requests + k] = request;
    }
  }
  long sum = 0;
  for (int i = 0; i < sessions * requests; ++i) {
    sum += requests_of[i][1];
    free(requests_of[i]);
  }
  for (int round = 0; round < 3000; ++round)
    for (int i = 0; i < sessions; ++i) sum += open_sessions[i]->key[0] + open_sessions[i]->user[0];
  printf("%ld\n", sum);
  return 0;
}
