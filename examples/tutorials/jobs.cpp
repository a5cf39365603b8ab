// jobs.cpp: a queue of jobs. Each job and its text are blocks of malloc's.
#include <cstdio>
#include <cstdlib>

struct job {
  job* next;
  char* text;
  int number;
};

static job* submit(job* queue, int number) {
  job* const j = static_cast<job*>(std::malloc(sizeof(job)));
  j->text = static_cast<char*>(std::malloc(number % 3 == 0 ? 100 : 40));
  std::snprintf(j->text, 40, "job %d", number);
  j->number = number;
  j->next = queue;
  return j;
}

static job* finish(job* done) {
  job* const rest = done->next;
  std::free(done->text);
  std::free(done);
  return rest;
}

int main() {
  int finished = 0;
  for (int round = 0; round < 100; ++round) {
    job* queue = nullptr;
    for (int i = 0; i < 12; ++i) queue = submit(queue, i);
    for (; queue != nullptr; ++finished) queue = finish(queue);
  }
  std::printf("%d jobs\n", finished);
  return 0;
}
