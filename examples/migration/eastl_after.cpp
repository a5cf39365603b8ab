// What a program has in place of eastl::fixed_list and eastl::fixed_vector, with ashlar.
#include <cstdio>
#include <list>
#include <memory_resource>
#include <new>
#include <vector>

#include <ashlar/ashlar.hpp>

namespace {

using overflow = ashlar::exhaustion::upstream<ashlar::process_source>;
ashlar::process_source process_heap;

// Was: eastl::fixed_list<int, 100, false>: no overflow.
using bounded = ashlar::static_pool_for<std::list<int>, 100>;
// Was: eastl::fixed_list<int, 100>: what does not fit goes to the heap.
using overflowing = ashlar::static_pool_for<std::list<int>, 100, overflow>;

}  // namespace

int main() {
  bounded bounded_nodes;
  bounded::container squares(bounded_nodes);
  try {
    for (int i = 0;; ++i) squares.push_back(i * i);
  } catch (const std::bad_alloc&) {
    std::printf("no node for more than %zu squares\n", squares.size());
  }

  overflowing nodes{overflow(process_heap)};
  overflowing::container cubes(nodes);
  for (int i = 0; i < 120; ++i) cubes.push_back(i * i * i);
  std::printf("%zu cubes, %zu of them in the pool\n", cubes.size(), nodes.stats().blocks_in_use());

  // Was: eastl::fixed_vector<int, 64, false> path;
  ashlar::static_arena<64 * sizeof(int)> bytes;
  ashlar::pmr::resource memory(bytes);
  std::pmr::vector<int> path(&memory);
  path.reserve(64);  // all that there is, once
  for (int i = 0; i < 64; ++i) path.push_back(i);
  std::printf("%zu steps\n", path.size());
  return 0;
}
