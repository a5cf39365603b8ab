// Threads that the C library makes: of timers with SIGEV_THREAD, of message queues, of asynchronous
// reads and writes.
#include "outside.h"

static sem_t rang;
static void ring(union sigval value) {
  use_heap((unsigned)value.sival_int, 50);
  free(strdup("rang"));
  sem_post(&rang);
}

int main(void) {
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
