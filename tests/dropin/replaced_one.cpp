// A program that replaces one operator, which FORM names, and keeps all others: each form that the standard
// makes of it has to call it, under the drop-in library, too.
#include <tests/support/require.hpp>

static int calls = 0;

#define NEW 1
#define NEW_ALIGNED 2
#define DELETE 3
#define DELETE_ALIGNED 4
#define DELETE_ARRAY 5
#define DELETE_ARRAY_ALIGNED 6
#define NEW_ARRAY 7
#define NEW_ARRAY_ALIGNED 8

#if FORM == NEW
void* operator new(std::size_t size) {
  ++calls;
  return std::malloc(size);
}
#elif FORM == NEW_ALIGNED
void* operator new(std::size_t size, std::align_val_t alignment) {
  ++calls;
  return std::aligned_alloc(static_cast<std::size_t>(alignment), size);
}
#elif FORM == NEW_ARRAY
void* operator new[](std::size_t size) {
  ++calls;
  return std::malloc(size);
}
#elif FORM == NEW_ARRAY_ALIGNED
void* operator new[](std::size_t size, std::align_val_t alignment) {
  ++calls;
  return std::aligned_alloc(static_cast<std::size_t>(alignment), size);
}
#elif FORM == DELETE
void operator delete(void* p) noexcept {
  ++calls;
  std::free(p);
}
#elif FORM == DELETE_ALIGNED
void operator delete(void* p, std::align_val_t) noexcept {
  ++calls;
  std::free(p);
}
#elif FORM == DELETE_ARRAY
void operator delete[](void* p) noexcept {
  ++calls;
  std::free(p);
}
#elif FORM == DELETE_ARRAY_ALIGNED
void operator delete[](void* p, std::align_val_t) noexcept {
  ++calls;
  std::free(p);
}
#endif

int main() {
  constexpr std::size_t size = 192;
  constexpr auto alignment = std::align_val_t{64};
  for (int i = 0; i < 100; ++i) {
    calls = 0;
    void* const one = ::operator new(size);
    void* const array = ::operator new[](size);
    void* const aligned = ::operator new(size, alignment);
    void* const aligned_array = ::operator new[](size, alignment);
    // new[] is made of new, the sized deletes of the others, and delete[] of delete.
    REQUIRE(calls == (FORM == NEW || FORM == NEW_ALIGNED               ? 2
                      : FORM == NEW_ARRAY || FORM == NEW_ARRAY_ALIGNED ? 1
                                                                       : 0));
    calls = 0;
    ::operator delete(one, size);
    ::operator delete[](array, size);
    ::operator delete(aligned, size, alignment);
    ::operator delete[](aligned_array, size, alignment);
    REQUIRE(calls == (FORM == DELETE || FORM == DELETE_ALIGNED               ? 2
                      : FORM == DELETE_ARRAY || FORM == DELETE_ARRAY_ALIGNED ? 1
                                                                             : 0));
    calls = 0;
    void* const quiet = ::operator new(size, std::nothrow);
    void* const quiet_array = ::operator new[](size, std::nothrow);
    void* const quiet_aligned = ::operator new(size, alignment, std::nothrow);
    void* const quiet_aligned_array = ::operator new[](size, alignment, std::nothrow);
    // A nothrow form is made of the same without it, so nothrow new[] of new[], which is made of new.
    REQUIRE(calls == (FORM == NEW || FORM == NEW_ALIGNED               ? 2
                      : FORM == NEW_ARRAY || FORM == NEW_ARRAY_ALIGNED ? 1
                                                                       : 0));
    calls = 0;
    ::operator delete(quiet, std::nothrow);
    ::operator delete[](quiet_array, std::nothrow);
    ::operator delete(quiet_aligned, alignment, std::nothrow);
    ::operator delete[](quiet_aligned_array, alignment, std::nothrow);
    REQUIRE(calls == (FORM == DELETE || FORM == DELETE_ALIGNED               ? 2
                      : FORM == DELETE_ARRAY || FORM == DELETE_ARRAY_ALIGNED ? 1
                                                                             : 0));
  }
  return 0;
}
