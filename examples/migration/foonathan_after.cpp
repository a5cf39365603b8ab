// What foonathan_before.cpp does, with ashlar.
#include <cstdio>
#include <list>

#include <ashlar/ashlar.hpp>

namespace {

struct session {
  explicit session(int n) : number(n) {}
  ~session() { std::printf("session %d closed\n", number); }
  int number;
};

// Storage for 100 elements and for 4 sessions, inside these objects.
constinit ashlar::static_pool_for<std::list<int>, 100> nodes;
constinit ashlar::static_pool<session, 4> sessions;
constinit ashlar::static_arena<4096> scratch;

}  // namespace

int main() {
  {
    decltype(nodes)::container list(nodes);
    for (int i = 0; i < 100; ++i) list.push_back(i);
    std::printf("%zu nodes\n", list.size());
  }
  {
    const auto handle = sessions.make(1);
    std::printf("session %d open\n", handle->number);
  }
  const auto start = scratch.mark();
  const void* const first = scratch.allocate(100, 8);
  scratch.rewind(start);
  std::printf("used again: %d\n", scratch.allocate(100, 8) == first ? 1 : 0);
  return 0;
}
