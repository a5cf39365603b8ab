/* Modules opened with RTLD_DEEPBIND, whose blocks cross between them and the program.
   Usage: dropin_deepbind dropped|kept MODULE
   dropped: the flag is taken out, so module and program have one malloc; kept: it is not.
   Compiled three times: MODULE allocates and frees; CALLER is a library that opens it by its name
   alone, found by its RUNPATH. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void* open_module_by_name(int flags);

#if defined(MODULE)
void* its_malloc(void);
void* make_block(size_t size);
void take_block(void* block);

void* its_malloc(void) {
  void* (*found)(size_t) = &malloc;
  void* address;
  memcpy(&address, &found, sizeof address); /* ISO C has no conversion */
  return address;
}
void* make_block(size_t size) { return malloc(size); }
void take_block(void* block) { free(block); }
#elif defined(CALLER)
void* open_module_by_name(int flags) {
  void* volatile library = dlopen("libdropin_deepbind_module.so", flags);
  return library; /* not a tail call: the loader has to see this library as the caller */
}
#else
#define REQUIRE(condition)                                                      \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                  \
    }                                                                           \
  } while (0)

struct module {
  void* (*its_malloc)(void);
  void* (*make)(size_t);
  void (*take)(void*);
};

static void* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  REQUIRE(found != NULL);
  return found;
}

static struct module functions_of(void* library) {
  struct module m;
  REQUIRE(library != NULL);
  *(void**)&m.its_malloc = symbol(library, "its_malloc");
  *(void**)&m.make = symbol(library, "make_block");
  *(void**)&m.take = symbol(library, "take_block");
  return m;
}

int main(int argc, char** argv) {
  REQUIRE(argc == 3);
  int is_dropped = strcmp(argv[1], "dropped") == 0;
  void* ours = dlsym(RTLD_DEFAULT, "malloc");
  void* library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  struct module m = functions_of(library);
  REQUIRE((m.its_malloc() == ours) == is_dropped);
  if (is_dropped) {
    m.take(malloc(100));
    free(m.make(100));
  }
  REQUIRE(dlclose(library) == 0);

  /* The caller's own folders: the program does not know where the module is, the library does. */
  REQUIRE(dlopen("libdropin_deepbind_module.so", RTLD_NOW) == NULL);
  REQUIRE(strstr(dlerror(), "libdropin_deepbind_module.so") != NULL);
  REQUIRE(dlopen("libdropin_deepbind_module.so", RTLD_NOW | RTLD_DEEPBIND) == NULL);
  for (int i = 0; i < 2; ++i) {
    library = open_module_by_name(i == 0 ? RTLD_NOW : RTLD_NOW | RTLD_DEEPBIND);
    REQUIRE((functions_of(library).its_malloc() == ours) == (i == 0 || is_dropped));
    REQUIRE(dlclose(library) == 0);
  }
  REQUIRE(dlopen(NULL, RTLD_NOW) != NULL);
  puts("as expected");
  return 0;
}
#endif
