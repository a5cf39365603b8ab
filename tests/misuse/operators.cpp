// One use of new and delete per mode, right or wrong: operators.py says what each has to end in.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

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
void correct() {
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

struct mode {
  const char* name;
  void (*run)();
};
constexpr mode modes[] = {
    {"correct", correct},
    {"new_delete_array", [] { delete_array(new_one(8)); }},
    {"new_array_delete", [] { delete_one(new_array(8)); }},
    {"new_array_free", [] { release(new_array(8)); }},
    {"malloc_delete_array", [] { delete_array(allocate(8)); }},
    {"size_too_large", [] { delete_sized(new_one(8), 16); }},
    {"size_of_another_object", [] { delete_sized(new_one(40), 39); }},
    {"array_size", [] { delete_array_sized(new_array(8), 16); }},
    {"aligned_size", [] { delete_aligned_sized(new_aligned(64, align{64}), 128, align{64}); }},
};

}  // namespace

int main(int argument_count, char** arguments) {
  for (const mode& m : modes) {
    if (argument_count != 2 || std::strcmp(arguments[1], m.name) != 0) continue;
    m.run();
    std::puts("ended");
    return 0;
  }
  for (const mode& m : modes) std::puts(m.name);
  return argument_count == 1 ? 0 : 2;
}
