// What the C library does with malloc. Usage: outside_libc NAME
#include <tests/support/programs.h>

#include "outside.h"

// functions_of_libc_that_hand_out_blocks: Functions of the C library that hand out blocks for the caller to free, that take blocks of the caller, or that free what other functions of theirs took.
static int compare(const void* a, const void* b) { return strcmp((const char*)a, (const char*)b); }
static int visited;
static int visit(const char* name, const struct stat* s, int kind, struct FTW* w) {
  return visited += 1, 0;
}

PROGRAM(functions_of_libc_that_hand_out_blocks) {
  long sum = 0;
  for (int round = 0; round < 50; ++round) {
    char* line = NULL;
    size_t room = 0;
    FILE* file = fopen("/proc/self/status", "r");
    while (getdelim(&line, &room, '\n', file) > 0) {
    }
    fclose(file);
    line = (char*)realloc(line, room * 2);
    free(line);

    char* text = NULL;
    size_t length = 0;
    FILE* stream = open_memstream(&text, &length);
    for (int i = 0; i < 2000; ++i) fprintf(stream, "%d,", i);
    fclose(stream);
    sum += (long)length;
    char* copy = NULL;
    CHECK(asprintf(&copy, "%s%s", text, text) == (int)(2 * length));
    free(text);
    free(copy);
    wchar_t* wide = wcsdup(L"wide");
    free(realloc(wide, 10000));

    struct dirent** names;
    int n = scandir("/proc/self/fdinfo", &names, NULL, alphasort);
    for (int i = 0; i < n; ++i) free(names[i]);
    free(names);
    glob_t found;
    if (glob("/etc/h*", 0, NULL, &found) == 0) globfree(&found);
    wordexp_t words;
    CHECK(wordexp("one 'two three' four", &words, WRDE_NOCMD) == 0 && words.we_wordc == 3);
    wordfree(&words);
    regex_t expression;
    CHECK(regcomp(&expression, "^(a+)+(b|c)*[[:digit:]]{2,9}$", REG_EXTENDED) == 0);
    sum += regexec(&expression, "aaaabcb123456", 0, NULL, 0);
    regfree(&expression);
    char* real = realpath("/proc/self/../self/root", NULL);
    free(real);
    free(getcwd(NULL, 0));

    void* tree = NULL;
    for (int i = 0; i < 100; ++i) {
      char key[20];
      snprintf(key, sizeof key, "%d", i * 7919 % 100);
      char* mine = strdup(key);
      if (*(char**)tsearch(mine, &tree, compare) != mine) free(mine);
    }
    tdestroy(tree, free);
    hcreate(100);
    for (int i = 0; i < 50; ++i) {
      char key[20];
      snprintf(key, sizeof key, "%d", i);
      hsearch((ENTRY){.key = strdup(key)}, ENTER);
    }
    char* keys[50];
    for (int i = 0; i < 50; ++i) {
      char key[20];
      snprintf(key, sizeof key, "%d", i);
      keys[i] = hsearch((ENTRY){.key = key}, FIND)->key;
    }
    hdestroy();
    for (int i = 0; i < 50; ++i) free(keys[i]);
    char* list = NULL;
    size_t bytes = 0;
    for (int i = 0; i < 30; ++i) argz_add(&list, &bytes, "an entry");
    argz_replace(&list, &bytes, "entry", "longer entry", NULL);
    sum += (long)bytes;
    free(list);

    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *address;
    CHECK(getaddrinfo("127.0.0.1", NULL, &hints, &address) == 0);
    freeaddrinfo(address);
    visited = 0;
    nftw("/proc/self/fdinfo", visit, 5, FTW_PHYS);
    char* roots[] = {(char*)"/proc/self/fdinfo", NULL};
    FTS* walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    while (fts_read(walk) != NULL) ++visited;
    fts_close(walk);
    CHECK(visited > 5);
    char* buffer = (char*)malloc(70000);
    FILE* buffered = fopen("/dev/null", "w");
    setvbuf(buffered, buffer, _IOFBF, 70000);
    for (int i = 0; i < 3000; ++i) fputs("through the caller's own buffer", buffered);
    fclose(buffered);
    free(buffer);
  }
  printf("%ld\n", sum);
}

// functions_by_a_handle: A program opens the C library, or a library that has it, and takes malloc's family by its names from there, as those do that call C from another language.
static void* function_of(void* library, const char* name) {
  void* const found = dlsym(library, name);
  CHECK(found != NULL && dlerror() == NULL);
  return found;
}

static void with_functions_of(void* library) {
  void (*its_free)(void*) = (void (*)(void*))function_of(library, "free");
  void* (*its_malloc)(size_t) = (void* (*)(size_t))function_of(library, "malloc");
  void* (*its_calloc)(size_t, size_t) = (void* (*)(size_t, size_t))function_of(library, "calloc");
  void* (*its_realloc)(void*, size_t) = (void* (*)(void*, size_t))function_of(library, "realloc");
  void* (*its_aligned)(size_t, size_t) =
      (void* (*)(size_t, size_t))function_of(library, "aligned_alloc");
  size_t (*its_size)(void*) = (size_t (*)(void*))function_of(library, "malloc_usable_size");
  char* (*its_strdup)(const char*) = (char* (*)(const char*))function_of(library, "strdup");
  for (size_t size = 1; size < 1 << 20; size = size * 3 + 1) {
    its_free(strdup("a block of the C library"));
    its_free(its_realloc(malloc(size), 2 * size));
    free(realloc(its_malloc(size), 2 * size));
    free(its_calloc(size, 1));
    free(its_aligned(64, size));
    char* block = (char*)malloc(size);
    CHECK(its_size(block) >= size && malloc_usable_size(block) == its_size(block));
    its_free(block);
  }
  free(its_strdup("strdup"));
}

PROGRAM(functions_by_a_handle) {
  void* const program = dlopen(NULL, RTLD_LAZY);
  CHECK(dlsym(program, "no_function_of_any_library") == NULL && dlerror() != NULL);
  with_functions_of(dlopen("libc.so.6", RTLD_LAZY));
  with_functions_of(dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL));
  with_functions_of(program);
  with_functions_of(RTLD_DEFAULT);
  with_functions_of(RTLD_NEXT);
  // All other names lead to the C library itself: who wraps such a function calls it so.
  const char* const names[] = {"prctl", "syscall", "dlopen", "dlsym", "puts"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    Dl_info where;
    CHECK(dladdr(function_of(dlopen("libc.so.6", RTLD_LAZY), names[i]), &where) != 0);
    CHECK(strstr(where.dli_fname, "libc.so") != NULL);
  }
}

// the_environment_ends_first: The program has an environment of its own in a block, as those do that write their title over the first one. It frees the block, and others use it, before the process ends.
PROGRAM(the_environment_ends_first) {
  size_t count = 0;
  while (environ[count] != NULL) ++count;
  const size_t bytes = (count + 1) * sizeof *environ;
  environ = (char**)memcpy(malloc(bytes), environ, bytes);
  CHECK(getenv("PATH") != NULL);
  free(environ);
  memset(malloc(bytes), 'x', bytes);
}

// opened_descriptors_at_start: At main, the process has the descriptors that it inherited, one thread, and no handlers of signals. (What guards blocks has handlers for its reports, and the background thread is a thread.)
// Editions: default samples
static int entries(const char* folder) {
  DIR* d = opendir(folder);
  int n = 0;
  while (d != NULL && readdir(d) != NULL) ++n;
  if (d != NULL) closedir(d);
  return n - 2;
}

PROGRAM(opened_descriptors_at_start) {
  free(malloc(100));
  free(malloc(1 << 20));
  int handlers = 0;
  for (int s = 1; s < 32; ++s) {
    struct sigaction now;
    if (sigaction(s, NULL, &now) == 0 && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)
      ++handlers;
  }
  stack_t other;
  sigset_t blocked, none;
  sigaltstack(NULL, &other);
  sigemptyset(&none);
  sigprocmask(SIG_BLOCK, &none, &blocked);
  use_heap(1, 5000);
  int descriptors = 0;
  for (int i = 3; i < 1000; ++i) descriptors += dup2(i, i) == i;
  printf("%d descriptors, %d tasks, %d handlers, alternate stack %d, blocked %d\n", descriptors,
         entries("/proc/self/task"), handlers, !(other.ss_flags & SS_DISABLE),
         !sigisemptyset(&blocked));
}
