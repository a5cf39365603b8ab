// A library's constructor waits for a thread that allocates, loads a further library, registers
// handlers and keys, while the loader's lock is held. Loaded and closed again and again.
#include "outside.h"

#ifdef MODULE
static __thread char room[3000];
static pthread_key_t key;
static void* body(void* p) {
  memset(room, 1, sizeof room);
  pthread_setspecific(key, malloc(10));
  use_heap(3, 300);
  return strdup("made by a thread");
}
static void* text;
__attribute__((constructor)) static void begin(void) {
  pthread_t t;
  CHECK(pthread_key_create(&key, free) == 0 && pthread_create(&t, NULL, body, NULL) == 0);
  pthread_join(t, &text);
  void* further = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
  if (further != NULL) dlclose(further);
  CHECK_CHILD(0, use_heap(2, 50));
}
__attribute__((destructor)) static void end(void) {
  free(text);
  pthread_key_delete(key);
  use_heap(4, 100);
}
char* look(void) { return strdup((char*)text); }
#else
int main(void) {
  for (int i = 0; i < 15; ++i) {
    void* module = dlopen(MODULE_FILE, i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
    CHECK(module != NULL);
    char* text = ((char* (*)(void))dlsym(module, "look"))();
    CHECK(dlclose(module) == 0 && strcmp(text, "made by a thread") == 0);
    free(text);
  }
  puts("15 times");
}
#endif
