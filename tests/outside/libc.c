// What the C library does with malloc. Usage: outside_libc NAME
#include "outside.h"

// functions_of_libc_that_hand_out_blocks: Functions of the C library that hand out blocks for the caller to free, that take blocks of the caller, or that free what other functions of theirs took.
static int compare(const void* a, const void* b) {
  return strcmp((const char*)a, (const char*)b);
}
static int visited;
static int visit(const char* name, const struct stat* s, int kind, struct FTW* w) {
  return visited += 1, 0;
}

static int functions_of_libc_that_hand_out_blocks(void) {
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
  return 0;
}

// locales_and_conversions: Locales, conversions and time zones are loaded and dropped over and over, by threads of their own too; the environment grows, shrinks and is cleared.
static void* body(void* p) {
  for (int i = 0; i < 30; ++i) {
    locale_t own = newlocale(LC_ALL_MASK, i % 2 ? "C.UTF-8" : "C", (locale_t)0);
    locale_t twin = duplocale(own);
    uselocale(own);
    wchar_t wide[64];
    swprintf(wide, 64, L"%s %d", "narrow", i);
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(own);
    freelocale(twin);
    iconv_t convert = iconv_open("UTF-16LE", i % 2 ? "ISO-8859-1" : "UTF-8");
    if (convert != (iconv_t)-1) {
      char in[] = "text to convert", out[64], *from = in, *to = out;
      size_t left = 15, room = 64;
      CHECK(iconv(convert, &from, &left, &to, &room) == 0 && room == 34);
      iconv_close(convert);
    }
  }
  return p;
}

static int locales_and_conversions(void) {
  static const char* const zones[] = {"UTC", "EST5EDT", "<+03>-3", ":/etc/localtime",
                                      "CET-1CEST,M3.5.0,M10.5.0/3"};
  for (int i = 0; i < 200; ++i) {
    setlocale(LC_ALL, i % 2 ? "C.UTF-8" : "C");
    setenv("TZ", zones[i % 5], 1);
    tzset();
    time_t t = 86400;
    char text[64];
    strftime(text, sizeof text, "%c %Z", localtime(&t));
    if (i % 20 == 3) puts(asctime(gmtime(&t)));
  }
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, body, NULL) == 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);

  for (int round = 0; round < 5; ++round) {
    char* own[50];
    for (int i = 0; i < 400; ++i) {
      char name[32];
      snprintf(name, sizeof name, "NAME_%d", i);
      setenv(name, "a value that is long enough to be moved", 1);
      if (i < 50) {
        own[i] = (char*)malloc(64);
        snprintf(own[i], 64, "OWN_%d=%d", i, round);
        putenv(own[i]);
      }
    }
    CHECK(atoi(getenv("OWN_49")) == round);
    if (round % 2) clearenv();
    for (int i = 0; i < 50; ++i) {
      char name[32];
      snprintf(name, sizeof name, "OWN_%d", i);
      unsetenv(name);
      free(own[i]);
    }
  }
  puts("ok");
  return 0;
}

// obstacks: Obstacks on malloc: growing objects, large and small chunks, freeing back to a mark.
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

static int obstacks(void) {
  struct obstack stack;
  long sum = 0;
  for (int chunk = 64; chunk < 300000; chunk *= 5) {
    obstack_begin(&stack, chunk);
    char* mark = (char*)obstack_alloc(&stack, 1);
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 1500; ++i) {
        obstack_grow(&stack, "some text", 9);
        if (i % 7 == 0) obstack_blank(&stack, i);
        obstack_grow0(&stack, "end", 3);
        sum += obstack_object_size(&stack);
        char* object = (char*)obstack_finish(&stack);
        CHECK(memcmp(object, "some text", 9) == 0);
        if (i % 10 == 9) obstack_free(&stack, object);
      }
      obstack_free(&stack, mark);
      mark = (char*)obstack_copy(&stack, "mark", 5);
    }
    obstack_free(&stack, NULL);
  }
  printf("%ld\n", sum);
  return 0;
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

static int opened_descriptors_at_start(void) {
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
  return 0;
}

static const struct program programs[] = {
    {"functions_of_libc_that_hand_out_blocks", functions_of_libc_that_hand_out_blocks},
    {"locales_and_conversions", locales_and_conversions},
    {"obstacks", obstacks},
    {"opened_descriptors_at_start", opened_descriptors_at_start},
};
int main(int count, char** arguments) {
  return run_program(count, arguments, programs, sizeof programs / sizeof *programs);
}
