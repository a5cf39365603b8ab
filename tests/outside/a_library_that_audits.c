// LD_AUDIT: the loader runs a library of the program's in a namespace of its own beside the
// preloaded one, from the start.
#include <link.h>
#include <pthread.h>

#include "outside.h"

#ifdef MODULE
static int opened;
unsigned la_version(unsigned version) {
  free(malloc(100));
  return version;
}
unsigned la_objopen(struct link_map* map, Lmid_t id, uintptr_t* cookie) {
  free(strdup(map->l_name));
  ++opened;
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
#else
static void* body(void* p) {
  use_heap(3, 2000);
  return p;
}
int main(int count, char** arguments) {
  if (count > 1) {
    pthread_t t[3];
    for (int i = 0; i < 3; ++i) CHECK(pthread_create(&t[i], NULL, body, NULL) == 0);
    for (int i = 0; i < 3; ++i) pthread_join(t[i], NULL);
    pid_t child = fork();
    if (child == 0) use_heap(1, 100), _exit(9);
    printf("audited: %d\n", wait_for(child));
    return 0;
  }
  char* again[] = {arguments[0], (char*)"x", NULL};
  setenv("LD_AUDIT", MODULE_FILE, 1);
  execv("/proc/self/exe", again);
}
#endif
