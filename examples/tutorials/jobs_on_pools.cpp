// The same rounds of jobs, on the pools that `ashlar tune` chose. There is no malloc.
#include <cstdio>
#include <cstdlib>

#include "pools.hpp"

constinit tuned::static_pools<> memory;

struct job {
  job* next;
  char* text;
  int number;
};

static std::size_t text_bytes(int number) { return number % 3 == 0 ? 100 : 40; }

static job* submit(job* queue, int number) {
  void* const place = memory.allocate(sizeof(job));
  void* const text = memory.allocate(text_bytes(number));
  if (place == nullptr || text == nullptr) {
    std::printf("no room for job %d\n", number);
    std::exit(1);
  }
  std::snprintf(static_cast<char*>(text), text_bytes(number), "job %d", number);
  return new (place) job{queue, static_cast<char*>(text), number};
}

static job* finish(job* done) {
  job* const rest = done->next;
  memory.deallocate(done->text, text_bytes(done->number));
  memory.deallocate(done, sizeof(job));
  return rest;
}

int main(int argc, char** argv) {
  const int jobs_a_round = argc > 1 ? std::atoi(argv[1]) : 12;
  int finished = 0;
  for (int round = 0; round < 100; ++round) {
    job* queue = nullptr;
    for (int i = 0; i < jobs_a_round; ++i) queue = submit(queue, i);
    for (; queue != nullptr; ++finished) queue = finish(queue);
  }
  std::printf("%d jobs in %zu bytes of pools\n", finished, sizeof(memory));
  return 0;
}
