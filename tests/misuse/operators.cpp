// One use of new and delete a program, right or wrong: operators.py says what each has to end in under full checks
// and on the hardened edition.
#define PROGRAMS_WITHOUT_MAIN
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include <tests/support/programs.h>

namespace {

// Through pointers that the compiler must read: it knows these pairs, and warns of wrong ones.
using align = std::align_val_t;
void* (*volatile new_one)(std::size_t) = ::operator new;
void* (*volatile new_array)(std::size_t) = ::operator new[];
void* (*volatile new_aligned)(std::size_t, align) = ::operator new;
void (*volatile delete_one)(void*) = ::operator delete;
void (*volatile delete_array)(void*) = ::operator delete[];
void (*volatile delete_sized)(void*, std::size_t) = ::operator delete;
void (*volatile delete_array_sized)(void*, std::size_t) = ::operator delete[];
void (*volatile delete_aligned_sized)(void*, std::size_t, align) = ::operator delete;
void* (*volatile allocate)(std::size_t) = std::malloc;
void* (*volatile resize)(void*, std::size_t) = std::realloc;
void* volatile moved;
void (*volatile release)(void*) = std::free;

struct alignas(64) wide {
  ~wide() { bytes[0] = 0; }
  char bytes[64];
};
struct base {
  virtual ~base() = default;
  int i = 0;
};
struct derived : base {
  int more[10] = {};
};
template <class T>
void delete_hidden(T* p) {
  T* volatile hidden = p;
  delete hidden;
}
template <class T>
void delete_array_hidden(T* p) {
  T* volatile hidden = p;
  delete[] hidden;
}

/// What the compiler makes of right programs, and a handler that is called in the middle of a new[].
PROGRAM(correct) {
  for (std::size_t n = 0; n < 5000; n += 7) {
    delete_sized(new_one(n), n);
    delete_one(new_one(n));
    delete_array_sized(new_array(n), n);
    delete_array(new_array(n));
    delete_aligned_sized(new_aligned(n, align{64}), n, align{64});
    delete_sized(::operator new(n, std::nothrow), n);
    release(allocate(n));
  }
  delete_sized(nullptr, 8);
  delete_hidden(new int);
  delete_hidden(new wide);
  delete_hidden<base>(new derived);
  delete_hidden<int>(nullptr);
  delete_array_hidden(new int[4]);
  delete_array_hidden(new wide[3]);
  delete_array_hidden(new char[0]);
  delete_array(::operator new[](7, std::nothrow));
  delete_one(::operator new(7, std::nothrow));
  ::operator delete[](::operator new[](7, align{128}), 7, align{128});
  static int* kept = nullptr;
  std::set_new_handler([] {
    kept = new int;
    std::set_new_handler(nullptr);
  });
  try {
    delete_array(new_array(PTRDIFF_MAX));
  } catch (const std::bad_alloc&) {
    delete_hidden(kept);
  }
}

PROGRAM(new_free) { release(new_one(40)); }
PROGRAM(new_array_free) { release(new_array(40)); }
PROGRAM(malloc_delete) { delete_one(allocate(40)); }
PROGRAM(malloc_delete_array) { delete_array(allocate(40)); }
PROGRAM(new_delete_array) { delete_array(new_one(40)); }
PROGRAM(new_array_delete) { delete_one(new_array(40)); }
PROGRAM(new_realloc) { moved = resize(new_one(40), 80); }
PROGRAM(size_too_large) { delete_sized(new_one(40), 41); }
PROGRAM(size_too_small) { delete_sized(new_one(40), 39); }
PROGRAM(array_size) { delete_array_sized(new_array(400), 8); }
PROGRAM(aligned_size) { delete_aligned_sized(new_aligned(64, align{64}), 128, align{64}); }

}  // namespace

int main(int argument_count, char** arguments) {
  const int status = run_program(argument_count == 2 ? arguments[1] : nullptr);
  if (status == 0) std::puts("ended");
  return status;
}
