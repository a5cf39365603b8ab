// misuse/corpus/malloc_family.cpp: malloc and operator new, whoever serves them: built without ashlar, run with
// the drop-in library or a peer preloaded.
#include <cstddef>
#include <cstdlib>
#include <new>

#include <malloc.h>
#include <sys/mman.h>

#include "component.hpp"

namespace {

// Through pointers that the compiler must read: it knows pairs of malloc and free, and elides them.
void* (*volatile malloc_of)(std::size_t) = std::malloc;
void (*volatile free_of)(void*) = std::free;
void* (*volatile realloc_of)(void*, std::size_t) = std::realloc;

void* by_malloc(std::size_t size) {
  return malloc_of(size);
}
void by_free(void* p) {
  free_of(p);
}
void* by_new(std::size_t size) {
  return ::operator new(size, std::nothrow);
}
void by_delete(void* p) {
  ::operator delete(p);
}
void by_delete_array(void* p) {
  ::operator delete[](p);
}
void by_sized_delete(void* p, std::size_t size) {
  ::operator delete(p, size);
}
void* by_realloc(void* p, std::size_t size) {
  return realloc_of(p, size);
}
bool trim() {
  ::malloc_trim(0);
  return true;
}
/// Memory that the program got from the system by itself; not at a page's start, as few blocks are.
void* from_system(std::size_t size) {
  void* const pages =
      ::mmap(nullptr, 4096 + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<char*>(pages) + 256;
}

/// Returns: how many bytes a caller may use of a block of 64.
std::size_t whole_block() {
  void* const p = by_malloc(64);
  const std::size_t size = ::malloc_usable_size(p);
  by_free(p);
  return size;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::size_t size = whole_block();
  corpus::component malloc_calls{.name = "malloc",
                                 .block_size = size,
                                 .allocate = by_malloc,
                                 .release = by_free,
                                 .settle = trim,
                                 .release_sized = by_sized_delete,
                                 .reallocate = by_realloc,
                                 .take_from_another = from_system,
                                 .allocate_by_new = by_new,
                                 .release_by_delete = by_delete,
                                 .release_by_delete_array = by_delete_array,
                                 .allocate_by_malloc = by_malloc,
                                 .release_by_free = by_free};
  corpus::component new_calls = malloc_calls;
  new_calls.name = "new";
  new_calls.allocate = by_new;
  new_calls.release = by_delete;
  new_calls.reallocate = nullptr;
  const corpus::component components[] = {malloc_calls, new_calls};
  return corpus::run(components, argument_count, arguments);
}
