// Every function of the malloc family and every operator new and delete, for a run under valgrind
// with the drop-in library preloaded (reports.py).
// Usage: malloc_family proper_use | mistakes
//   proper_use: nothing that a tool may report
//   mistakes:   a read behind a block of each function that allocates, and one of a block that each
//               function that frees has freed; before each a line "case NAME" on standard error
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include <malloc.h>

// C23: the drop-in library has them, also where the C library has not.
extern "C" {
[[gnu::weak]] void free_sized(void* p, std::size_t size);
[[gnu::weak]] void free_aligned_sized(void* p, std::size_t alignment, std::size_t size);
}

namespace {

using size = std::size_t;
constexpr size bytes = 40;
constexpr auto wide = std::align_val_t{64};

struct allocation {
  const char* name;
  void* (*make)();
  void (*end)(void*);
  size room;  ///< bytes that the caller may use
};

void end_free(void* p) {
  std::free(p);
}
void end_delete(void* p) {
  operator delete(p);
}
void end_delete_array(void* p) {
  operator delete[](p);
}
void end_delete_wide(void* p) {
  operator delete(p, wide);
}
void end_delete_array_wide(void* p) {
  operator delete[](p, wide);
}

void* grown_from(void* p, size n) {
  return std::realloc(p, n);
}
void* by_posix_memalign() {
  void* p = nullptr;
  return ::posix_memalign(&p, 64, bytes) == 0 ? p : nullptr;
}

const allocation allocations[] = {
    {"malloc", [] { return std::malloc(bytes); }, end_free, bytes},
    {"calloc", [] { return std::calloc(4, bytes / 4); }, end_free, bytes},
    {"realloc", [] { return std::realloc(nullptr, bytes); }, end_free, bytes},
    {"realloc_of_a_block", [] { return grown_from(std::malloc(3), bytes); }, end_free, bytes},
    {"reallocarray", [] { return ::reallocarray(nullptr, 4, bytes / 4); }, end_free, bytes},
    {"reallocarray_of_a_block", [] { return ::reallocarray(std::malloc(3), 4, bytes / 4); },
     end_free, bytes},
    {"posix_memalign", by_posix_memalign, end_free, bytes},
    {"aligned_alloc", [] { return std::aligned_alloc(64, bytes); }, end_free, bytes},
    {"memalign", [] { return ::memalign(64, bytes); }, end_free, bytes},
    {"valloc", [] { return ::valloc(bytes); }, end_free, bytes},
    {"pvalloc", [] { return ::pvalloc(bytes); }, end_free, 4096},
    {"new", [] { return operator new(bytes); }, end_delete, bytes},
    {"new_array", [] { return operator new[](bytes); }, end_delete_array, bytes},
    {"new_nothrow", [] { return operator new(bytes, std::nothrow); }, end_delete, bytes},
    {"new_array_nothrow", [] { return operator new[](bytes, std::nothrow); }, end_delete_array,
     bytes},
    {"new_aligned", [] { return operator new(bytes, wide); }, end_delete_wide, bytes},
    {"new_array_aligned", [] { return operator new[](bytes, wide); }, end_delete_array_wide, bytes},
    {"new_aligned_nothrow", [] { return operator new(bytes, wide, std::nothrow); }, end_delete_wide,
     bytes},
    {"new_array_aligned_nothrow", [] { return operator new[](bytes, wide, std::nothrow); },
     end_delete_array_wide, bytes},
};

struct deallocation {
  const char* name;
  void* (*make)();
  void (*end)(void*);
};

void* make_malloc() {
  return std::malloc(bytes);
}
void* make_new() {
  return operator new(bytes);
}
void* make_new_array() {
  return operator new[](bytes);
}
void* make_new_wide() {
  return operator new(bytes, wide);
}
void* make_new_array_wide() {
  return operator new[](bytes, wide);
}

const deallocation deallocations[] = {
    {"free", make_malloc, end_free},
    {"free_sized", make_malloc, [](void* p) { ::free_sized(p, bytes); }},
    {"free_aligned_sized", [] { return std::aligned_alloc(64, bytes); },
     [](void* p) { ::free_aligned_sized(p, 64, bytes); }},
    {"realloc_away", make_malloc, [](void* p) { std::free(std::realloc(p, 100 * bytes)); }},
    {"reallocarray_away", make_malloc, [](void* p) { std::free(::reallocarray(p, 100, bytes)); }},
    {"delete", make_new, end_delete},
    {"delete_array", make_new_array, end_delete_array},
    {"delete_sized", make_new, [](void* p) { operator delete(p, bytes); }},
    {"delete_array_sized", make_new_array, [](void* p) { operator delete[](p, bytes); }},
    {"delete_nothrow", make_new, [](void* p) { operator delete(p, std::nothrow); }},
    {"delete_array_nothrow", make_new_array, [](void* p) { operator delete[](p, std::nothrow); }},
    {"delete_aligned", make_new_wide, end_delete_wide},
    {"delete_array_aligned", make_new_array_wide, end_delete_array_wide},
    {"delete_sized_aligned", make_new_wide, [](void* p) { operator delete(p, bytes, wide); }},
    {"delete_array_sized_aligned", make_new_array_wide,
     [](void* p) { operator delete[](p, bytes, wide); }},
    {"delete_aligned_nothrow", make_new_wide,
     [](void* p) { operator delete(p, wide, std::nothrow); }},
    {"delete_array_aligned_nothrow", make_new_array_wide,
     [](void* p) { operator delete[](p, wide, std::nothrow); }},
};

void begin_case(const char* name) {
  std::fprintf(stderr, "case %s\n", name);
}

/// One function for each case: memcheck tells two errors at one place only once.
volatile char seen;
template <size Case>
void look_at(const char* p) {
  seen = *p;
}
template <size... Cases>
constexpr auto make_lookers(std::index_sequence<Cases...>) {
  return std::array{look_at<Cases>...};
}
constexpr auto lookers =
    make_lookers(std::make_index_sequence<std::size(allocations) + std::size(deallocations)>{});

void use_properly() {
  for (const allocation& a : allocations) {
    auto* const p = static_cast<char*>(a.make());
    std::memset(p, 1, a.room);
    seen = p[a.room - 1];
    a.end(p);
  }
  for (const deallocation& d : deallocations) d.end(d.make());
  end_free(nullptr);
  void* const p = std::malloc(bytes);
  if (::malloc_usable_size(p) < bytes) std::abort();
  std::free(p);
  static_cast<void>(::malloc_trim(0));
  static_cast<void>(::mallinfo2());
}

void make_mistakes() {
  auto look = lookers.begin();
  for (const allocation& a : allocations) {
    begin_case(a.name);
    auto* const p = static_cast<char*>(a.make());
    (*look++)(p + a.room);
    a.end(p);
  }
  for (const deallocation& d : deallocations) {
    begin_case(d.name);
    auto* const p = static_cast<char*>(d.make());
    d.end(p);
    (*look++)(p);
  }
  begin_case("freed_twice");
  void* volatile p = std::malloc(bytes);
  std::free(p);
  std::free(p);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (std::strcmp(argv[1], "proper_use") == 0)
    use_properly();
  else
    make_mistakes();
  return 0;
}
