// A program that has ashlar by `import`: each part of it once, and the C API by its header beside it.
#include <cstdio>
#include <cstdlib>
#include <map>

#include <ashlar/ashlar.h>

import ashlar;

namespace {

struct job {
  explicit job(int n) : number(n) {}
  int number;
};

ashlar::static_pool<job, 4, ashlar::exhaustion::counted<>, ashlar::check::full<2>> jobs;
constinit ashlar::static_pool_for<std::map<int, int>, 10> nodes;

void require(bool holds, const char* what) {
  if (holds) return;
  std::printf("module: %s\n", what);
  std::exit(1);
}

}  // namespace

int main() {
  job* const made = jobs.create(7);
  require(made != nullptr && made->number == 7, "a pool");
  jobs.destroy(made);
  job* const placed = new (jobs) job(8);
  require(placed->number == 8, "new (pool)");
  ashlar::destroy_in(jobs, placed);

  decltype(nodes)::container map(nodes);
  map[3] = 4;
  require(map.at(3) == 4, "a container on a pool");
  ashlar::containers::vector<int> numbers{1, 2, 3};
  require(numbers.size() == 3 && numbers.get_allocator() == ashlar::allocator<int>(),
          "a container on the heap");

  ashlar::static_arena<256> arena;
  require(arena.allocate(16) != nullptr, "an arena");
  ashlar::heap<> own({.budget_bytes = std::size_t{1} << 20});
  void* const block = own.allocate(100);
  require(block != nullptr, "a heap");
  own.deallocate(block);
  void* const c = xmalloc(10);
  xfree(c);
  std::puts("module: pools, arenas and heaps");
}
