// A heap for each tenant. A tenant that asks for too much harms itself only.
#include <cstdio>
#include <map>
#include <memory_resource>
#include <new>
#include <string>

#include <ashlar/adapt/pmr.hpp>
#include <ashlar/instance/heap.hpp>

struct tenant {
  tenant(const char* name, std::size_t budget_bytes)
      : memory({.budget_bytes = budget_bytes, .name = name}) {}

  ashlar::heap<> memory;  // first, because it has to outlive what it serves
  ashlar::pmr::resource<ashlar::heap<>> resource{memory};
  std::pmr::map<int, std::pmr::string> documents{&resource};
};

static void store(tenant& t, int count) {
  int stored = 0;
  try {
    for (; stored < count; ++stored) t.documents[stored].assign(1000, 'x');
  } catch (const std::bad_alloc&) {
    std::printf("%s: the budget is used up\n", t.memory.name());
  }
  const ashlar_stats figures = t.memory.stats();
  std::printf("%s: %d documents, %llu KiB in use\n", t.memory.name(), stored,
              static_cast<unsigned long long>(figures.total.bytes_in_use / 1024));
}

int main() {
  tenant modest("modest", 8 << 20);
  {
    tenant greedy("greedy", 1 << 20);
    store(greedy, 1'000'000);
    store(modest, 1000);
  }  // greedy's memory goes back
  store(modest, 2000);
  return 0;
}
