// What boost_pool_before.cpp does, with ashlar.
#include <cstdio>
#include <list>

#include <ashlar/ashlar.hpp>

namespace {

struct session {
  explicit session(int n) : number(n) {}
  ~session() { std::printf("session %d closed\n", number); }
  int number;
};
using frame = char[64];

ashlar::fixed_pool<ashlar::process_source> nodes({ashlar::node_size<std::list<int>>},
                                                 ashlar::heap_blocks{});

}  // namespace

int main() {
  ashlar::static_run_pool<frame, 32> frames;
  void* const run = frames.try_allocate(4);  // four frames side by side
  std::printf("a run of frames: %d\n", run != nullptr ? 1 : 0);
  frames.deallocate(run);

  using allocator = ashlar::pool_allocator<int, decltype(nodes)>;
  const std::list<int, allocator> list(100, 7, allocator(nodes));
  std::printf("%zu nodes\n", list.size());

  ashlar::object_pool<session, ashlar::process_source, ashlar::at_death::destroy> sessions{
      ashlar::heap_blocks{}};
  session* const first = sessions.create(1);
  if (first == nullptr || sessions.create(2) == nullptr) return 1;
  sessions.destroy(first);
  return 0;  // the pool destroys session 2
}
