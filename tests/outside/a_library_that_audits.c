// LD_AUDIT: the loader runs a library of the program's in a namespace of its own beside the
// preloaded one, from the start.
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
int main(int count, char** arguments) {
  if (count > 1) {
    run_threads(3, use_heap_in_thread);
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
