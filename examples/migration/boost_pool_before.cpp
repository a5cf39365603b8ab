// With Boost.Pool: objects that their pool destroys, blocks side by side, and a list of its nodes.
// boost_pool_after.cpp does the same with ashlar.
#include <boost/pool/object_pool.hpp>
#include <boost/pool/pool.hpp>
#include <boost/pool/pool_alloc.hpp>
#include <cstdio>
#include <list>

namespace {

struct session {
  explicit session(int n) : number(n) {}
  ~session() { std::printf("session %d closed\n", number); }
  int number;
};
using frame = char[64];

}  // namespace

int main() {
  boost::pool<> frames(sizeof(frame));
  void* const run = frames.ordered_malloc(4);  // four frames side by side
  std::printf("a run of frames: %d\n", run != nullptr ? 1 : 0);
  frames.ordered_free(run, 4);

  std::list<int, boost::fast_pool_allocator<int>> list(100, 7);
  std::printf("%zu nodes\n", list.size());

  boost::object_pool<session> sessions;
  session* const first = sessions.construct(1);
  if (first == nullptr || sessions.construct(2) == nullptr) return 1;
  sessions.destroy(first);
  return 0;  // the pool destroys session 2
}
