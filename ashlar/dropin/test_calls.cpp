// dropin/test_calls.cpp: test scopes of the drop-in library, by a name of their own.
// Layer: dropin. A program may have libashlar's beside them, whose heap is another.
#include <ashlar/dropin/export.hpp>
#include <ashlar/runtime/test_scopes.hpp>

extern "C" ASHLAR_EXPORT const ashlar_test_calls* ashlar_test_calls_of_malloc() {
  return ashlar::runtime::test_calls();
}
