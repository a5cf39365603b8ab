// tools/shim/next_allocator.hpp: the allocator that the program would have had without us. Layer: shim.
#pragma once

#include <cstddef>

#include "tools/shim/log.hpp"

namespace ashlar::shim {

/// The functions behind ours in the loader's order: the C library's, or those of a library that was preloaded behind us.
struct next_functions {
  void* (*malloc)(std::size_t);
  void (*free)(void*);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void* (*reallocarray)(void*, std::size_t, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  std::size_t (*malloc_usable_size)(void*);
  int (*fork)();
};
inline constinit next_functions next{};
inline bool prepared = false;

/// Effects: finds them, and begins to record. Returns: false while they are being looked for: the loader's own calls are then
/// served from a small buffer.
[[gnu::cold]] bool prepare();
inline bool ready() {
  if (prepared) [[likely]]
    return true;
  return prepare();
}

/// Effects: the same in a process that goes on without these functions until divert_slots(). Returns: false: it has no
/// heap.
[[nodiscard]] bool prepare_attached();

/// That buffer. What is in it is never given back.
void* boot_allocate(std::size_t size, std::size_t alignment);
bool is_boot_block(const void* block);
/// Returns: how many bytes there are from the block to the end of what was handed out.
std::size_t boot_bytes_from(const void* block);

/// Returns: the next definition of an operator, by its mangled name; null where there is none, as in a C program.
void* find_operator(const char* mangled);

// One call of the program's.

/// While it lives, what the next allocator calls is its own affair.
class outer_call {
 public:
  outer_call() : was_inside_(own_log.inside), recorded_(is_on() && !own_log.inside) {
    own_log.inside = true;
  }
  ~outer_call() { own_log.inside = was_inside_; }
  outer_call(const outer_call&) = delete;
  outer_call& operator=(const outer_call&) = delete;
  [[nodiscard]] bool is_recorded() const { return recorded_; }

 private:
  bool was_inside_;
  bool recorded_;
};

}  // namespace ashlar::shim
