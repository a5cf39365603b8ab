// A program with the classic names, as it finds them installed: C++17 and later.
#include <cstdio>

#include "xallocator.h"
#include "xlist.h"
#include "xstring.h"
#if __cplusplus >= 202002L
#include "MemManager.h"
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
#endif
  std::puts("classic: c++");
  return 0;
}
