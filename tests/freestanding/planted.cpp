// What freestanding code must not do, so that the check of symbols can prove that it bites.
#include <cstddef>
#include <cstdlib>
#include <new>

void* ashlar_test_planted(std::size_t n) { return n > 100 ? std::malloc(n) : ::operator new(n); }
