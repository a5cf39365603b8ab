// The classic headers as C++17, the level of the originals and the compilers' default, with all
// warnings. Ignoring a result of theirs gives none.
#include <cstdio>
#include <sstream>
#include <string>
#include <utility>

#include "DataTypes.h"
#include "stl_allocator.h"
#include "xallocator.h"
#include "xdeque.h"
#include "xforward_list.h"
#include "xlist.h"
#include "xmap.h"
#include "xqueue.h"
#include "xset.h"
#include "xsstream.h"
#include "xstring.h"
#include "xunordered_map.h"
#include "xunordered_set.h"
#include "xvector.h"

static_assert(__cplusplus == 201703L, "this file is a test of C++17");

class Widget {
  XALLOCATOR
 public:
  virtual ~Widget() = default;
  UINT value = 7;
};
class alignas(64) Wide : public Widget {
 public:
  DOUBLE numbers[20] = {};
};

int main() {
  xmalloc(100);
  xrealloc(nullptr, 100);
  stl_allocator<int>().allocate(10);
  Widget* const one = new Wide;
  Widget* const many = new Widget[10];
  if (one->value + many[9].value != 14) return 1;
  delete one;
  delete[] many;
  xlist<xstring> list;
  xmap<int, xstring> map;
  xmap<int, int, stl_allocator<std::pair<const int, int>>> other;
  xmultimap<int, int> multimap;
  xset<int> set;
  xqueue<int> queue;
  xunordered_map<int, int> hash;
  xunordered_set<int> hashes;
  xvector<int> vector;
  xdeque<int> deque;
  xforward_list<int> forward;
  for (int i = 0; i < 100; ++i) {
    xostringstream line;
    line << "line number " << i << ", long enough to be a block of its own";
    list.push_back(line.str());
    map[i] = line.str();
    other[i] = i;
    multimap.emplace(1, i);
    set.insert(i);
    queue.push(i);
    hash[i] = i;
    hashes.insert(i);
    vector.push_back(i);
    deque.push_front(i);
    forward.push_front(i);
  }
  if (map[99] != list.back() || stl_allocator<int>() != stl_allocator<char>()) return 2;
  xalloc_stats();
  std::puts("C++17");
  return 0;
}
