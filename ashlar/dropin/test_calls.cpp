// dropin/test_calls.cpp: what headers that need no library look for when the program runs: test
// scopes of the drop-in library, by a name of their own, and the tags of what it samples.
// Layer: dropin. A program may have libashlar's beside them, whose heap is another.
#include <ashlar/dropin/export.hpp>
#include <ashlar/runtime/tags.hpp>
#include <ashlar/runtime/test_scopes.hpp>

extern "C" {

ASHLAR_EXPORT const ashlar_test_calls* ashlar_test_calls_of_malloc() {
  return ashlar::runtime::test_calls();
}

ASHLAR_EXPORT const ashlar_tag** ashlar_tags_of_malloc(int mends, const ashlar_tag* ended) {
  if (mends != 0) [[unlikely]]
    ashlar::runtime::mend_tags(ended);
  return &ashlar::runtime::innermost_tag;
}

}  // extern "C"
