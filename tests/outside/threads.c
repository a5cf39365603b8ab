// Threads: how they begin, end and hand blocks over. Usage: outside_threads NAME
#include <tests/support/programs.h>

#include "outside.h"

// a_thread_that_only_frees: Three threads allocate; all blocks are freed by one that never allocates. What the process keeps stays bounded.
enum { places = 4096, makers = 3, rounds = 12000 };
static void* queue[places];
static pthread_barrier_t start;

static void* make(void* p) {
  pthread_barrier_wait(&start);
  for (int i = 0; i < rounds; ++i) {
    void* block = malloc(2500);
    memset(block, 1, 2500);
    void** place = &queue[(i * 7 + (int)(size_t)p) % places];
    void* none = NULL;
    while (
        !__atomic_compare_exchange_n(place, &none, block, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      none = NULL;
      usleep(0);
    }
  }
  return p;
}
static void* take(void* p) {
  pthread_barrier_wait(&start);
  for (int got = 0, i = 0; got < makers * rounds; i = (i + 1) % places) {
    void* block = __atomic_exchange_n(&queue[i], NULL, __ATOMIC_ACQ_REL);
    free(block);
    got += block != NULL;
  }
  return p;
}

PROGRAM(a_thread_that_only_frees) {
  pthread_t t[makers + 1];
  pthread_barrier_init(&start, NULL, makers + 1);
  for (int i = 0; i <= makers; ++i)
    CHECK(pthread_create(&t[i], NULL, i == 0 ? take : make, (void*)(size_t)i) == 0);
  for (int i = 0; i <= makers; ++i) pthread_join(t[i], NULL);
  // 4096 blocks live at once are 10 MB; 36,000 are 90 MB.
  printf("bounded: %d\n", resident_kib() < 70 * 1024);
}

// a_thread_key_that_is_not_made_yet: A library looks whether a thread has a value of its, before it has made its key, which is zero then: there is none.
static pthread_key_t not_made_yet;
static void* look_for_a_value(void* p) {
  free(malloc(100));
  const int has_value = pthread_getspecific(not_made_yet) != NULL;
  printf("a value: %d; to set one: %d\n", has_value, pthread_setspecific(not_made_yet, p));
  return p;
}
PROGRAM(a_thread_key_that_is_not_made_yet) {
  pthread_t t;
  look_for_a_value(&t);
  CHECK(pthread_create(&t, NULL, look_for_a_value, &t) == 0 && pthread_join(t, NULL) == 0);
  CHECK(pthread_key_create(&not_made_yet, NULL) == 0);
  look_for_a_value(&t);
}

// detached_threads_at_exit: The process exits in every way while detached threads allocate, with exit handlers that do so, too.
static void* busy(void* p) {
  for (unsigned i = 0;; ++i) use_heap(i, 40);
  return p;
}
static void* begin_and_end(void* p) {
  for (;;) {
    pthread_t t;
    if (pthread_create(&t, NULL, (void* (*)(void*))malloc, (void*)100) == 0) {
      void* block;
      pthread_join(t, &block);
      free(block);
    }
  }
  return p;
}
static void handler(void) { use_heap(7, 300); }
static void handler_with_status(int status, void* p) {
  use_heap((unsigned)status, 300);
  free(p);
}

PROGRAM(detached_threads_at_exit) {
  for (int i = 0; i < 12; ++i) {
    pid_t child = fork();
    if (child != 0) {
      CHECK(wait_for(child) == i % 4);
      continue;
    }
    atexit(handler);
    at_quick_exit(handler);
    on_exit(handler_with_status, malloc(1000));
    for (int k = 0; k < 3; ++k) {
      pthread_t t;
      CHECK(pthread_create(&t, NULL, k == 0 ? begin_and_end : busy, NULL) == 0);
      pthread_detach(t);
    }
    usleep(2000);
    i % 3 == 2 ? quick_exit(i % 4) : exit(i % 4);
  }
  puts("all ended");
}

// fibers_move_between_threads: Contexts on stacks of malloc are resumed by another thread each time: allocated here, freed there, errno included.
enum { fibers = 12, steps = 40, threads = 3, stack_bytes = 64 * 1024 };
struct fiber {
  ucontext_t here, caller;
  char* stack;
  int done;
};
static struct fiber all[fibers];
static int turn;
static pthread_barrier_t barrier;

static __attribute__((noinline)) void yield_to_caller(struct fiber* f) {
  swapcontext(&f->here, &f->caller);
}
static void run(int index) {
  struct fiber* f = &all[index];
  char* text = strdup("a fiber");
  for (int i = 0; i < steps; ++i) {
    char* next = (char*)malloc(10 + 300 * (size_t)i);
    strcpy(next, text);
    free(text);
    text = next;
    use_heap((unsigned)(index * steps + i), 30);
    yield_to_caller(f);
    CHECK(strcmp(text, "a fiber") == 0);
  }
  free(text);
  f->done = 1;
  yield_to_caller(f);
}
static void* resume(void* p) {
  int me = (int)(size_t)p;
  for (int step = 0; step <= steps; ++step) {
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < fibers; ++i)
      if ((i + step) % threads == me) swapcontext(&all[i].caller, &all[i].here);
    pthread_barrier_wait(&barrier);
  }
  return p;
}

PROGRAM(fibers_move_between_threads) {
  pthread_barrier_init(&barrier, NULL, threads);
  for (int i = 0; i < fibers; ++i) {
    getcontext(&all[i].here);
    all[i].stack = (char*)malloc(stack_bytes);
    all[i].here.uc_stack.ss_sp = all[i].stack;
    all[i].here.uc_stack.ss_size = stack_bytes;
    makecontext(&all[i].here, (void (*)(void))run, 1, i);
  }
  run_threads(threads, resume);
  int done = 0;
  for (int i = 0; i < fibers; ++i) done += all[i].done, free(all[i].stack);
  printf("done: %d\n", done);
}

// figures_beside_threads: mallinfo, malloc_info, malloc_stats, malloc_trim and mallopt while threads begin, allocate and end, and the process forks.
static int stop;
static void* body(void* p) {
  use_heap((unsigned)(size_t)p, 60);
  return p;
}
static void* begin_and_end_threads(void* p) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    pthread_t t[2];
    for (int i = 0; i < 2; ++i)
      if (pthread_create(&t[i], NULL, body, (void*)(size_t)i) != 0) abort();
    for (int i = 0; i < 2; ++i) pthread_join(t[i], NULL);
  }
  return p;
}

PROGRAM(figures_beside_threads) {
  dup2(open("/dev/null", O_WRONLY), 2);
  pthread_t t[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&t[i], NULL, begin_and_end_threads, NULL) == 0);
  void* held = malloc(50 << 20);
  for (int i = 0; i < 40; ++i) {
    struct mallinfo2 now = mallinfo2();
    CHECK(now.uordblks + now.hblkhd >= 50u << 20);
    mallinfo();
    char* text = NULL;
    size_t length = 0;
    FILE* stream = open_memstream(&text, &length);
    CHECK(malloc_info(0, stream) == 0 && fclose(stream) == 0 && strncmp(text, "<malloc", 7) == 0);
    free(text);
    if (i % 8 == 0) malloc_stats();
    malloc_trim((size_t)i << 16);
    CHECK(mallopt(M_TRIM_THRESHOLD, 1 << 20) == 1 && mallopt(M_ARENA_MAX, 2) == 1 &&
          mallopt(M_PERTURB, 0) == 1);
    if (i % 10 == 0) CHECK_CHILD(6, mallinfo2(), malloc_trim(0), use_heap(1, 50));
  }
  free(held);
  stop = 1;
  for (int i = 0; i < 2; ++i) pthread_join(t[i], NULL);
  puts("told");
}

// helper_threads_of_the_c_library: Threads that the C library makes: of timers with SIGEV_THREAD, of message queues, of asynchronous reads and writes.
static sem_t rang;
static void ring(union sigval value) {
  use_heap((unsigned)value.sival_int, 50);
  free(strdup("rang"));
  sem_post(&rang);
}

PROGRAM(helper_threads_of_the_c_library) {
  sem_init(&rang, 0, 0);
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = ring};
  timer_t timers[4];
  for (int i = 0; i < 4; ++i) {
    event.sigev_value.sival_int = i;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timers[i]) == 0);
    struct itimerspec each_ms = {{0, 1000000}, {0, 1000000}};
    timer_settime(timers[i], 0, &each_ms, NULL);
  }
  for (int i = 0; i < 60; ++i) sem_wait(&rang);
  for (int i = 0; i < 4; ++i) timer_delete(timers[i]);

  char name[] = "file_XXXXXX";
  int file = mkstemp(name);
  unlink(name);
  struct aiocb requests[16];
  struct aiocb* list[16];
  for (int write = 1; write >= 0; --write) {
    for (int i = 0; i < 16; ++i) {
      requests[i] = (struct aiocb){.aio_fildes = file, .aio_nbytes = 5000, .aio_offset = i * 5000};
      requests[i].aio_buf = memset(malloc(5000), write ? 'a' + i : 0, 5000);
      requests[i].aio_lio_opcode = write ? LIO_WRITE : LIO_READ;
      list[i] = &requests[i];
    }
    CHECK(lio_listio(LIO_WAIT, list, 16, NULL) == 0);
    for (int i = 0; i < 16; ++i) {
      CHECK(aio_return(&requests[i]) == 5000 && ((char*)requests[i].aio_buf)[4999] == 'a' + i);
      free((void*)requests[i].aio_buf);
    }
  }
  snprintf(name, sizeof name, "/o%d", (int)getpid() % 100000);
  struct mq_attr small = {.mq_maxmsg = 2, .mq_msgsize = 64};
  mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &small);
  if (queue != (mqd_t)-1) {
    mq_unlink(name);
    while (sem_trywait(&rang) == 0) {
    }
    CHECK(mq_notify(queue, &event) == 0 && mq_send(queue, "x", 1, 0) == 0);
    sem_wait(&rang);
    mq_close(queue);
  }
  puts("all rang");
}

// stacks_that_the_program_owns: A thread's stack, and so its TLS, lies in memory of the program, which overwrites, frees or unmaps it after the join.
enum { stack_bytes_owns = 256 * 1024 };
static pthread_key_t key;

static void* body_owns(void* p) {
  pthread_setspecific(key, malloc(123));
  use_heap((unsigned)(size_t)p, 300);
  return strdup("from its stack");
}

PROGRAM(stacks_that_the_program_owns) {
  pthread_key_create(&key, free);
  for (int i = 0; i < 60; ++i) {
    void* stack = i % 3 == 0   ? aligned_alloc(4096, stack_bytes_owns)
                  : i % 3 == 1 ? malloc(stack_bytes_owns)
                               : mmap(NULL, stack_bytes_owns, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t own;
    pthread_attr_init(&own);
    CHECK(pthread_attr_setstack(&own, stack, stack_bytes_owns) == 0);
    for (int again = 0; again < 2; ++again) {
      pthread_t t;
      void* text;
      CHECK(pthread_create(&t, &own, body_owns, (void*)(size_t)i) == 0);
      pthread_join(t, &text);
      CHECK(strcmp((char*)text, "from its stack") == 0);
      free(text);
      memset(stack, 0x5a, stack_bytes_owns);
    }
    i % 3 == 2 ? (void)munmap(stack, stack_bytes_owns) : free(stack);
    use_heap((unsigned)i, 100);
    if (i % 10 == 0) CHECK_CHILD(0, use_heap(2, 100));
  }
  puts("ok");
}

// the_first_thread_ends_first: main ends by pthread_exit. The process lives on: /proc/self has no maps any more, since they are the first thread's.
static char* of_main;
static pthread_t first;

static void at_end(void) {
  use_heap(3, 200);
  printf("at the end\n");
}
static void* survivor(void* p) {
  pthread_join(first, NULL);
  CHECK(strcmp(of_main, "written by main") == 0);
  free(of_main);
  for (int i = 0; i < 5; ++i) {
    pthread_t t;
    CHECK(pthread_create(&t, NULL, use_heap_in_thread, (void*)(size_t)i) == 0);
    pthread_join(t, NULL);
    char* large = (char*)calloc(1, (size_t)40 << 20);
    CHECK(large != NULL && large[39 << 20] == 0);
    free(large);
    malloc_trim(0);
    pid_t child = fork();
    if (child == 0) {
      use_heap(9, 500);
      _exit(7);
    }
    CHECK(wait_for(child) == 7);
  }
  return p;
}

PROGRAM(the_first_thread_ends_first) {
  first = pthread_self();
  of_main = strdup("written by main");
  atexit(at_end);
  pthread_t t;
  CHECK(pthread_create(&t, NULL, survivor, NULL) == 0);
  pthread_exit(NULL);
}

// threads_on_one_processor: Threads on one processor: one that holds a lock is taken off it often, and the others must let it go on. Yielding does not let an ordinary thread go on beside one with real-time priority: that one has to sleep.
static int stop_processor;
static void* exchange[64];

static void churn(unsigned seed, int count, unsigned large_in) {
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    void* block = malloc((seed >> 10) % large_in == 0 ? 60000 : 1 + (seed >> 10) % 1000);
    free(__atomic_exchange_n(&exchange[seed >> 26], block, __ATOMIC_ACQ_REL));
  }
}
static void* one_of_eight(void* number) {
  churn((unsigned)(size_t)number + 1, 6000, 64);
  return NULL;
}
static void* ordinary(void* p) {
  for (unsigned i = 0; !__atomic_load_n(&stop_processor, __ATOMIC_RELAXED); ++i) churn(i, 100, 32);
  return p;
}
static void* real_time(void* p) {
  struct sched_param priority = {.sched_priority = 10};
  if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) != 0) return (void*)1;
  for (unsigned i = 0; i < 300; ++i) {
    churn(i, 60, 32);
    usleep(500);
  }
  return NULL;
}

PROGRAM(threads_on_one_processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) exit(77);
  run_threads(8, one_of_eight);
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  printf("ended in time: %d\n", used.tv_sec < 5);
  pthread_t t[3], r;
  void* refused;
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&t[i], NULL, ordinary, NULL) == 0);
  CHECK(pthread_create(&r, NULL, real_time, NULL) == 0);
  pthread_join(r, &refused);
  stop_processor = 1;
  for (int i = 0; i < 3; ++i) pthread_join(t[i], NULL);
  for (int i = 0; i < 64; ++i) free(exchange[i]);
  puts(refused != NULL ? "no right to a real-time priority" : "ended beside it");
}

// threads_that_end_without_the_heap: Threads end that never used the heap; then one uses it, and the process forks. An ending thread of the C library frees what other threads left to its stack cache, after its own last destructor.
enum { idle_threads = 24, rounds_heap = 2 };
static pthread_barrier_t all_heap;

static void* idle(void* p) {
  pthread_barrier_wait(&all_heap);
  return p;
}
static void* user(void* p) {
  free(malloc(100));
  return p;
}

PROGRAM(threads_that_end_without_the_heap) {
  for (int r = 0; r < rounds_heap; ++r) {
    pthread_barrier_init(&all_heap, 0, idle_threads + 1);
    for (int i = 0; i < idle_threads; ++i) {
      pthread_t t;
      pthread_create(&t, 0, idle, 0);
      pthread_detach(t);
    }
    pthread_barrier_wait(&all_heap);
    usleep(100000);
  }
  for (int i = 0; i < 3; ++i) {
    pthread_t t;
    pthread_create(&t, 0, user, 0);
    pthread_join(t, 0);
  }
  int status;
  if (fork() == 0) _exit(0);
  wait(&status);
  printf("the child ended with %d\n", status);
}
