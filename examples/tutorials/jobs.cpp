// Rounds of jobs. Each job and its text is a block of malloc's.
#include <cstdio>
#include <cstdlib>

struct job {
  job* next;
  char* text;
  int number;
};

static job* submit(job* queue, int number) {
  auto* const j = static_cast<job*>(std::malloc(sizeof(job)));
  const std::size_t text_bytes = number % 3 == 0 ? 100 : 40;
  auto* const text = static_cast<char*>(std::malloc(text_bytes));
  if (j == nullptr || text == nullptr) std::abort();
  std::snprintf(text, text_bytes, "job %d", number);
  *j = {queue, text, number};
  return j;
}

static job* finish(job* done) {
  job* const rest = done->next;
  std::free(done->text);
  std::free(done);
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
  std::printf("%d jobs\n", finished);
  return 0;
}
