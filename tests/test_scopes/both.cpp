// A program that libashlar and the drop-in library serve at once, each with a heap of its own: a scope counts both.
#include <tests/support/require.hpp>

#include <ashlar/adapt/test_scope.hpp>
#include <ashlar/adapt/xmalloc.h>

int main() {
  using ashlar::test::calls;
  REQUIRE(ashlar::test::can_count(calls::malloc_and_new | calls::libashlar));
  const ashlar::test::count_scope scope;
  void* const a = std::malloc(10);
  void* const b = xmalloc(20);
  delete new int(1);
  ashlar_test_figures f = scope.now();
  REQUIRE(f.allocations == 3 && f.frees == 1 && f.live_bytes == 30 && f.peak_bytes == 34);
  REQUIRE(f.first_sizes[0] == 20 && f.first_sizes[1] == 10);  // libashlar's first
  xfree(b);
  std::free(a);
  f = scope.now();
  REQUIRE(f.live_blocks == 0 && f.frees == 3);
  std::puts("both are counted");
}
