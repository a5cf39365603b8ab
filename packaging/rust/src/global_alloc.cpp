// global_alloc.cpp: the functions that heap.rs calls: the process heap, by the rules of Rust's GlobalAlloc.
// Requires of all: no size is 0, an alignment is a power of two, a block came from here. None throws.
#include <cstddef>
#include <cstring>

#include <ashlar/adapt/c_rules.hpp>
#include <ashlar/runtime/hit_path.hpp>

using namespace ashlar;

extern "C" {

// Returns: uninitialised memory, or null.
void* ashlar_rust_alloc(std::size_t size, std::size_t alignment) noexcept {
  if (alignment <= block_granule) [[likely]]
    return c_rules::allocate(size, "alloc");
  return c_rules::allocate_aligned(alignment, size, "alloc");
}

// Returns: memory that is zero, or null.
void* ashlar_rust_alloc_zeroed(std::size_t size, std::size_t alignment) noexcept {
  if (alignment <= block_granule) [[likely]]
    return c_rules::allocate_zeroed(1, size, "alloc_zeroed");
  void* const block = c_rules::allocate_aligned(alignment, size, "alloc_zeroed");
  return block == nullptr ? nullptr : std::memset(block, 0, size);
}

void ashlar_rust_dealloc(void* block) noexcept { runtime::deallocate(block, "dealloc"); }

// Returns: the block with its first bytes, perhaps elsewhere; null, and then it stays as it was.
// Requires: it is aligned to no more than block_granule, which is what a block that moves has.
void* ashlar_rust_realloc(void* block, std::size_t size) noexcept {
  return c_rules::reallocate(block, size, "realloc");
}

std::size_t ashlar_rust_usable_size(const void* block) noexcept {
  return c_rules::usable_size(block, "usable_size");
}

static_assert(block_granule == 16, "heap.rs says which blocks ashlar_rust_realloc takes");

}  // extern "C"
