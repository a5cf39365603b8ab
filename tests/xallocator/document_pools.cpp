// A program built with STATIC_POOLS, MAX_BLOCKS 4 and MAX_ALLOCATORS 6: the document's pools serve
// it, in every file, and no heap does.
#include <iostream>
#include <sstream>
#include <tests/support/require.hpp>

#include "xallocator.h"

// The process heap's object, weak: null in a program into which nothing has brought it.
extern char the_process_heap __asm__("_ZN6ashlar7runtime8the_heapE") __attribute__((weak));
extern "C" void* block_of_the_c_file(size_t size);
void* block_of_the_other_file(size_t size);

namespace {
struct message {
  XALLOCATOR
  char text[200];
};

int handler_calls = 0;

constexpr int messages = 4;  // all blocks of 256 bytes, and there is no larger size
}  // namespace

int main() {
  REQUIRE(&the_process_heap == nullptr);
  message* held[messages];
  for (message*& m : held) m = new message;
  std::set_new_handler([] { ++handler_calls; });
  REQUIRE(xmalloc(sizeof(message)) == nullptr);
  REQUIRE(handler_calls == 1);
  REQUIRE(new (std::nothrow) message == nullptr);
  REQUIRE(handler_calls == 2);
  bool thrown = false;
  try {
    held[0] = new message;
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  REQUIRE(thrown && handler_calls == 3);
  std::set_new_handler(nullptr);
  REQUIRE(xmalloc(257) == nullptr);

  void* const a = block_of_the_c_file(100);
  void* const b = block_of_the_other_file(100);
  REQUIRE(a != nullptr && b != nullptr && xusable_size(a) == 128 && xusable_size(b) == 128);
  std::ostringstream text;
  std::streambuf* const before = std::cout.rdbuf(text.rdbuf());
  xalloc_stats();
  std::cout.rdbuf(before);
  std::string expected;
  for (const int size : {8, 16, 32, 64, 128, 256}) {
    const int in_use = size == 128 ? 2 : size == 256 ? 4 : 0;
    expected = "xallocator Block Size: " + std::to_string(size) +
               " Block Count: " + std::to_string(in_use) +
               " Blocks In Use: " + std::to_string(in_use) + "\n";
    REQUIRE(text.str().find(expected) != std::string::npos);
  }
  REQUIRE(text.str().find("396") == std::string::npos);
  xfree(a);
  xfree(b);
  for (message* m : held) delete m;
  std::puts("the document's pools");
  return 0;
}
