// The classic Allocator<T> for containers: small blocks from free lists that all containers share, larger
// ones from the heap; three bounds to choose from.
#include "memory_pool_allocator.h"

#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <utility>
#include <vector>

namespace {

template <class K, class V>
using pooled_map = std::map<K, V, std::less<K>, Allocator<std::pair<const K, V>>>;

}  // namespace

int main() {
  std::list<int, Allocator<int>> list;
  for (int i = 0; i < 1000; ++i) list.push_back(i);
  pooled_map<int, double> squares;
  for (const int i : list) squares[i] = double{1} * i * i;

  // Blocks of up to 1024 bytes from the lists: a deque's pieces of 512 too.
  std::deque<int, Allocator1024<int>> deque(list.begin(), list.end());

  // A freed block is the next one of its size.
  Allocator<int> allocator;
  int* p = allocator.allocate(4);
  const void* const before = p;
  allocator.deallocate(p, 4);
  p = allocator.allocate(4);
  std::printf("%zu, %.0f, %d; %s\n", list.size(), squares[999], deque.back(),
              p == before ? "the same block" : "another block");
  for (int i = 0; i < 4; ++i) p[i] = i;
  p = allocator.reallocate(p, 4, 100);  // the first four move along
  std::printf("%d %d %d %d\n", p[0], p[1], p[2], p[3]);
  allocator.deallocate(p, 100);
  return 0;
}
