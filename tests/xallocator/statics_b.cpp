// Static objects of a file that knows xmalloc only by its declaration, so that nothing puts xalloc_init
// before its constructors or xalloc_destroy behind its destructors.
#include <tests/xallocator/holder.hpp>

namespace {
const holder first{3}, second{4};
}
