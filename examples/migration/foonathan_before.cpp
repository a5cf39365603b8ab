// With foonathan/memory: a list in a pool, a handle, and a stack that is unwound.
// foonathan_after.cpp does the same with ashlar.
#include <cstdio>
#include <foonathan/memory/container.hpp>
#include <foonathan/memory/memory_pool.hpp>
#include <foonathan/memory/memory_stack.hpp>
#include <foonathan/memory/smart_ptr.hpp>

namespace memory = foonathan::memory;

namespace {

struct session {
  explicit session(int n) : number(n) {}
  ~session() { std::printf("session %d closed\n", number); }
  int number;
};

}  // namespace

int main() {
  using node_pool = memory::memory_pool<memory::node_pool>;
  node_pool nodes(memory::list_node_size<int>::value, 8192);
  {
    memory::list<int, node_pool> list(nodes);
    for (int i = 0; i < 100; ++i) list.push_back(i);
    std::printf("%zu nodes\n", list.size());
  }
  {
    memory::memory_pool<memory::node_pool> sessions(sizeof(session), 4096);
    const auto handle = memory::allocate_unique<session>(sessions, 1);
    std::printf("session %d open\n", handle->number);
  }
  memory::memory_stack<> scratch(4096);
  const auto start = scratch.top();
  const void* const first = scratch.allocate(100, 8);
  scratch.unwind(start);
  std::printf("used again: %d\n", scratch.allocate(100, 8) == first ? 1 : 0);
  return 0;
}
