// popen, system and posix_spawn from several threads that allocate; the preloaded library is
// inherited by all of them.
#include "outside.h"

extern char** environ;
static void* body(void* p) {
  long got = 0;
  for (int i = 0; i < 4; ++i) {
    char line[64];
    FILE* out = popen("echo $((40 + 2))", "r");
    CHECK(out != NULL && fgets(line, sizeof line, out) != NULL && pclose(out) == 0);
    got += atoi(line);
    use_heap((unsigned)i, 200);
    CHECK(system("exit 3") == 3 << 8);
    pid_t child;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
    char* arguments[] = {strdup("sh"), strdup("-c"), strdup("echo lost; exit 4"), NULL};
    CHECK(posix_spawn(&child, "/bin/sh", &actions, NULL, arguments, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    for (int k = 0; k < 3; ++k) free(arguments[k]);
    CHECK(wait_for(child) == 4);
  }
  return (void*)got;
}

int main(void) {
  pthread_t t[3];
  long sum = 0;
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&t[i], NULL, body, NULL) == 0);
  for (int i = 0; i < 3; ++i) {
    void* got;
    pthread_join(t[i], &got);
    sum += (long)got;
  }
  printf("%ld\n", sum);
}
