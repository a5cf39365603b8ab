/* The four lock functions, in C as classic code has them. They check what ashlar promises of them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

void lock_init(void);
void lock_get(void);
void lock_release(void);
void lock_destroy(void);

static pthread_mutex_t mutex;
static int ready;
static unsigned long gets; /* under the mutex */
static int held;           /* likewise */

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "user_locks: %s\n", what);
  abort();
}

void lock_init(void) {
  require(!ready, "lock_init is called once");
  require(pthread_mutex_init(&mutex, NULL) == 0, "pthread_mutex_init");
  ready = 1;
}
void lock_get(void) {
  require(ready, "lock_get comes after lock_init and before lock_destroy");
  require(pthread_mutex_lock(&mutex) == 0, "pthread_mutex_lock");
  require(!held, "the lock excludes");
  held = 1;
  ++gets;
}
void lock_release(void) {
  require(ready && held, "lock_release comes after a lock_get");
  held = 0;
  require(pthread_mutex_unlock(&mutex) == 0, "pthread_mutex_unlock");
}
void lock_destroy(void) {
  require(ready && !held, "nobody has the lock when it is destroyed");
  require(gets >= 6000, "the lock was used");
  ready = 0;
  require(pthread_mutex_destroy(&mutex) == 0, "pthread_mutex_destroy");
  puts("the program's lock was used");
}
