// At a limit of addresses: bad_alloc, exceptions thrown without memory, null from nothrow, threads
// and files refused; then all is freed and everything works again. Three times.
// Full checks and samples keep the addresses of records, and the background thread has a stack: then a new thread's stack
// does not always fit.
// Editions: default hardened
#include <future>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "outside.h"

static std::size_t fill(std::vector<void*>& blocks) {
  std::size_t sum = 0;
  for (std::size_t size = 8 << 20; size >= 16; size /= 2)
    while (blocks.size() < blocks.capacity()) {
      errno = 0;
      void* block = std::malloc(size);
      if (block == nullptr) {
        CHECK(errno == ENOMEM);
        break;
      }
      blocks.push_back(block);
      sum += size;
    }
  return sum;
}

int main() {
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    blocks.reserve(200000);
    for (int i = 0; i < 1000; ++i) blocks.push_back(std::malloc(1000));
    rlimit all{}, some{};
    getrlimit(RLIMIT_AS, &all);
    long pages = 0;
    FILE* statm = fopen("/proc/self/statm", "r");
    CHECK(fscanf(statm, "%ld", &pages) == 1);
    fclose(statm);
    some = {static_cast<rlim_t>(pages) * 4096 + (48 << 20), all.rlim_max};
    setrlimit(RLIMIT_AS, &some);
    CHECK(fill(blocks) > (16 << 20));
    int caught = 0;
    for (int i = 0; i < 50; ++i) {
      try {
        if (i % 2 == 0) throw std::runtime_error("a text that is too long to be stored in place");
        std::vector<char> more(20 << 20);
      } catch (const std::bad_alloc&) {
        ++caught;
      } catch (const std::exception&) {
        ++caught;
      }
    }
    CHECK(caught == 50);
    CHECK(new (std::nothrow) char[20 << 20] == nullptr);
    void* aligned = &caught;
    CHECK(posix_memalign(&aligned, 64, 20 << 20) == ENOMEM && aligned == &caught);
    pthread_t t;
    pthread_attr_t deep;
    pthread_attr_init(&deep);
    pthread_attr_setstacksize(&deep, 64 << 20);
    CHECK(pthread_create(&t, &deep, [](void* p) { return p; }, nullptr) == EAGAIN);
    for (void* block : blocks) std::free(block);
    blocks.clear();
    try {
      std::vector<std::string> works(500, std::string(1000, 'w'));
      CHECK(std::async(std::launch::async, [&] { return works.back().size(); }).get() == 1000);
    } catch (const std::exception&) {
      CHECK(!"memory came back");
    }
    setrlimit(RLIMIT_AS, &all);
    std::printf("round %d\n", round);
  }
}
