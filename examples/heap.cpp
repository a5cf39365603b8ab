// A heap for each tenant: a budget that one tenant cannot exceed at another's cost, figures of its own, and
// an end that frees everything at once, so that no request has to clean up after itself.
#include <cstdio>
#include <cstring>
#include <thread>

#include <ashlar/instance/heap.hpp>

namespace {

/// A list of words, never freed one by one.
struct word {
  word* next;
  char text[1];
};

/// Returns: how many copies of `text` fit into the tenant's budget, `most` at most.
std::size_t remember(ashlar::heap<>& memory, const char* text, std::size_t most) {
  std::size_t count = 0;
  const std::size_t length = std::strlen(text) + 1;
  for (word* list = nullptr; count != most; ++count) {
    auto* w = static_cast<word*>(memory.try_allocate(sizeof(word) + length));
    if (w == nullptr) break;  // this tenant's budget is used up; the others do not notice
    w->next = list;
    std::memcpy(w->text, text, length);
    list = w;
  }
  return count;
}

void print(const ashlar::heap<>& memory) {
  const ashlar_stats s = memory.stats();
  std::printf("%s: %llu KiB in use, %llu KiB committed\n", memory.name(),
              static_cast<unsigned long long>(s.total.bytes_in_use / 1024),
              static_cast<unsigned long long>(s.total.committed_bytes / 1024));
}

}  // namespace

int main() {
  ashlar::heap modest({.budget_bytes = 4 << 20, .name = "modest"});
  {
    ashlar::heap greedy({.budget_bytes = 1 << 20, .name = "greedy"});
    std::size_t got = 0;
    std::thread other([&] { got = remember(greedy, "more", SIZE_MAX); });
    const std::size_t enough = remember(modest, "enough", 1000);
    other.join();
    std::printf("greedy got %zu words, modest %zu\n", got, enough);
    print(greedy);
  }  // all of greedy's words are gone
  print(modest);
  return 0;
}
