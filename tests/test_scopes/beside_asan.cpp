// A program that is built with AddressSanitizer, on a libashlar that is not: no scope can count,
// and each says so.
#include <tests/support/require.hpp>

#include <ashlar/adapt/test_scope.hpp>
#include <ashlar/adapt/xmalloc.h>

int main() {
  using ashlar::test::calls;
  xfree(xmalloc(10));
  REQUIRE(!ashlar::test::can_count(calls::libashlar));
  REQUIRE(!ashlar::test::can_count(calls::malloc_family));
  static bool told = false;
  ashlar::test::on_failure([](const char* message) { told = std::puts(message) >= 0; });
  const ashlar::test::no_allocation_scope quiet(ashlar::test::forbid::allocations,
                                                calls::libashlar);
  REQUIRE(told);
  xfree(xmalloc(10));
  REQUIRE(quiet.now().allocations == 0);
}
