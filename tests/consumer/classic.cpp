// A program with the classic names, as it finds them installed: C++17 and later.
#include <cstdio>

#include "xallocator.h"
#include "xlist.h"
#include "xstring.h"
#if __cplusplus >= 202002L
#include "MemManager.h"
#include "alloc_with_pool.h"

template <class T>
using MyAllocator = Allocator<T>;
#endif

class Message {
  XALLOCATOR
 public:
  INT number = 7;
};

int main() {
  Message* const message = new Message;
  xlist<xstring> list;
  list.push_back("a text that is too long for the string itself, so a block");
  if (message->number != 7 || list.size() != 1) return 1;
  delete message;
#if __cplusplus >= 202002L
  MemManager<Message, 10> pool;
  void* const slot = pool.Allocate();
  pool.Deallocate(slot);
  const auto start = std::chrono::high_resolution_clock::now();
  xlist<int, MyAllocator<int>> numbers(1000);
  if (std::chrono::high_resolution_clock::now() < start) return 2;
  std::puts("classic: c++20");
#else
  std::puts("classic: c++17");
#endif
  return 0;
}
