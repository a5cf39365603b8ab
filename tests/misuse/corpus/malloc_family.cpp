// misuse/corpus/malloc_family.cpp: malloc and operator new, whoever serves them: built without ashlar, run with
// the drop-in library or a peer preloaded.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <new>

#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// Returns: the smallest distance of two blocks of `size` bytes.
std::uintptr_t distance(std::size_t size) {
  constexpr std::size_t count = 64;
  std::uintptr_t blocks[count];
  for (std::uintptr_t& b : blocks) b = reinterpret_cast<std::uintptr_t>(by_malloc(size));
  std::sort(std::begin(blocks), std::end(blocks));
  std::uintptr_t smallest = UINTPTR_MAX;
  for (std::size_t i = 1; i < count; ++i) smallest = std::min(smallest, blocks[i] - blocks[i - 1]);
  for (const std::uintptr_t b : blocks) by_free(reinterpret_cast<void*>(b));
  return smallest;
}

/// Returns: how many bytes can be asked for instead of 64 for the same distance. malloc_usable_size does not say
/// so of every allocator, and what is written into slack is no overflow.
std::size_t bytes_at_no_cost() {
  constexpr std::size_t most = 128;
  std::size_t size = 64;
  const std::uintptr_t wanted = distance(size);
  while (size < most && distance(size + 1) == wanted) ++size;
  return size;
}

/// Returns: the same, found out in a child, so that this process has a fresh heap. It is an exit code.
std::size_t whole_block() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(static_cast<int>(bytes_at_no_cost()));
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) ::_exit(3);
  return static_cast<std::size_t>(WEXITSTATUS(status));
}

/// Returns: what a caller may use of a large block; of nearly all allocators those are whole pages.
std::size_t whole_pages() {
  void* const p = by_malloc(std::size_t{1} << 20);
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
  corpus::component large_calls = malloc_calls;
  large_calls.name = "large";
  large_calls.block_size = whole_pages();
  const corpus::component components[] = {malloc_calls, new_calls, large_calls};
  return corpus::run(components, argument_count, arguments);
}
