// Many threads on one malloc: what idle ones hold, and what busy ones cost. The figures are in
// results/measurements.md, "Idle threads".
//
//   g++ -O2 -fno-builtin -pthread bench/programs/many_threads.cpp -o many_threads
//   LD_PRELOAD=FILE ./many_threads idle 1000 8000             resident memory once all are idle
//   LD_PRELOAD=FILE ./many_threads busy 64 8000 4000000       processor time of 4,000,000 replacements
//
// Each thread has 200 blocks of 16 to 16 + SIZE - 1 bytes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

constexpr std::size_t live_blocks = 200;
unsigned sizes;
long replacements;  // of each thread
pthread_barrier_t all_there, measured;

struct block_sizes {
  unsigned state;
  std::size_t next() {
    state = state * 1664525u + 1013904223u;
    return 16 + (state >> 8) % sizes;
  }
};

void* be_idle(void* key) {
  block_sizes random{static_cast<unsigned>(reinterpret_cast<std::size_t>(key)) * 2654435761u};
  void* blocks[live_blocks];
  for (int round = 0; round < 3; ++round) {
    for (void*& block : blocks) {
      const std::size_t size = random.next();
      block = std::memset(std::malloc(size), 1, size);
    }
    for (void* block : blocks) std::free(block);
  }
  ::pthread_barrier_wait(&all_there);
  ::pthread_barrier_wait(&measured);
  return nullptr;
}

void* be_busy(void* key) {
  block_sizes random{static_cast<unsigned>(reinterpret_cast<std::size_t>(key)) * 2654435761u};
  char* blocks[live_blocks] = {};
  ::pthread_barrier_wait(&all_there);
  for (long i = 0; i < replacements; ++i) {
    const std::size_t size = random.next();
    char*& block = blocks[(random.state >> 16) % live_blocks];
    std::free(block);
    block = static_cast<char*>(std::malloc(size));
    *block = 1;
  }
  for (char* block : blocks) std::free(block);
  ::pthread_barrier_wait(&measured);
  return nullptr;
}

double resident_mib() {
  long all = 0, resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &all, &resident) != 2) std::exit(1);
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

}  // namespace

int main(int count, char** arguments) {
  const bool busy = count == 5 && std::string_view(arguments[1]) == "busy";
  if (!busy && (count != 4 || std::string_view(arguments[1]) != "idle")) return 2;
  std::vector<pthread_t> threads(std::strtoul(arguments[2], nullptr, 10));
  sizes = static_cast<unsigned>(std::strtoul(arguments[3], nullptr, 10));
  if (threads.empty() || sizes == 0) return 2;
  if (busy)
    replacements = std::strtol(arguments[4], nullptr, 10) / static_cast<long>(threads.size());
  const auto parties = static_cast<unsigned>(threads.size() + 1);
  ::pthread_barrier_init(&all_there, nullptr, parties);
  ::pthread_barrier_init(&measured, nullptr, parties);
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, 65536);
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (::pthread_create(&threads[i], &small, busy ? be_busy : be_idle,
                         reinterpret_cast<void*>(i + 1)) != 0)
      return 1;
  ::pthread_barrier_wait(&all_there);
  if (!busy) {
    const double idle = resident_mib();
    ::malloc_trim(0);
    std::printf("idle: %.1f MiB resident, %.1f after malloc_trim\n", idle, resident_mib());
  }
  ::pthread_barrier_wait(&measured);
  for (pthread_t thread : threads) ::pthread_join(thread, nullptr);
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  if (busy)
    std::printf("busy: %.2f s of processor time, at most %.1f MiB\n",
                seconds(used.ru_utime) + seconds(used.ru_stime),
                static_cast<double>(used.ru_maxrss) / 1024);
  return 0;
}
