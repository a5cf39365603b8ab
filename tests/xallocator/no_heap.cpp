// Static pools call no heap: every malloc and operator new of the process is counted here, and there is
// none between the first xmalloc and the report.
#include <tests/support/require.hpp>

#include "xallocator.h"
#include "xallocator_static_pools.h"

XALLOCATOR_STATIC_POOLS(ashlar::blocks<64, 10>, ashlar::blocks<396, 20>, ashlar::blocks<768, 10>);

// The process heap's object, weak: null in a program into which nothing has brought it.
extern char the_process_heap __asm__("_ZN6ashlar7runtime8the_heapE") __attribute__((weak));

namespace {
constinit unsigned long heap_calls = 0;
constinit std::size_t reported = 0;
}  // namespace

// The C library's own functions under the names that it keeps for replacements like these.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void __libc_free(void* block);

void* malloc(std::size_t size) {
  ++heap_calls;
  return __libc_malloc(size);
}
void* realloc(void* block, std::size_t size) {
  ++heap_calls;
  return __libc_realloc(block, size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++heap_calls;
  return __libc_calloc(count, size);
}
void free(void* block) { __libc_free(block); }

// The report's lines go to the program, not to stdio, which would make itself a buffer.
void xalloc_stats_line(const char*, std::size_t length) noexcept { reported += length; }
}

namespace {
struct message {
  XALLOCATOR
  virtual ~message() = default;
  char text[300] = {};
};
struct long_message : message {
  char more[400] = {};
};
}  // namespace

int main() {
  // The count counts.
  const unsigned long before_test = heap_calls;
  void* volatile from_heap = std::malloc(10);
  std::free(from_heap);
  REQUIRE(heap_calls > before_test);
  REQUIRE(&the_process_heap == nullptr);

  const unsigned long before = heap_calls;
  for (int round = 0; round < 100; ++round) {
    message* const a = new message;
    message* const b = new long_message;
    message* const c = new (std::nothrow) message[2];
    REQUIRE(c != nullptr);
    void* p = xmalloc(50);
    p = xrealloc(p, 500);
    void* const q = xcalloc(4, 90);
    void* const r = xaligned_alloc(16, 33);
    REQUIRE(p != nullptr && q != nullptr && r != nullptr);
    REQUIRE(xmalloc(769) == nullptr);
    xalloc_stats();
    xfree(r);
    xfree(q);
    xfree(p);
    delete[] c;
    delete b;
    delete a;
  }
  xalloc_destroy();
  const unsigned long after = heap_calls;
  REQUIRE(reported > 0);
  REQUIRE(after == before);

  // Used up, a class says so as any class does; what it throws is the C++ library's to allocate.
  message* held[31];
  std::size_t count = 0;
  while ((held[count] = new (std::nothrow) message) != nullptr) ++count;
  REQUIRE(count == 20 + 10);  // those of 396, and then those of 768
  bool thrown = false;
  try {
    held[count] = new message;
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  REQUIRE(thrown);
  while (count > 0) delete held[--count];
  std::puts("no heap was called");
  return 0;
}
