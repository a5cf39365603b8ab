// heap_instance.cpp: the functions that heap_instance.rs calls: heaps beside the process heap.
// Requires of all: no size is 0, an alignment is a power of two, a block came from the heap. None throws.
// A heap is null where the system refused its own data: then it has no blocks.
#include <cstddef>
#include <cstdint>

#include <ashlar/instance/heap_body.hpp>

using namespace ashlar;
using runtime::heap_body;

extern "C" {

struct ashlar_rust_heap_figures {
  std::size_t in_use, committed, peak_committed;
};

// Returns: a heap, and the id by which the next two functions find the thread's cache of it.
heap_body* ashlar_rust_heap_begin(std::size_t budget_bytes, const char* name,
                                  std::uint64_t* id) noexcept {
  heap_body* const heap = heap_body::create({}, budget_bytes, name, {});
  if (heap != nullptr) *id = heap->hit_id();
  return heap;
}

// Requires: nobody uses the heap or a block of it any more.
void ashlar_rust_heap_end(heap_body* heap) noexcept {
  if (heap != nullptr) heap_body::destroy(heap, detail::heap_leaks::ignored);
}

// Returns: uninitialised memory, or null.
void* ashlar_rust_heap_alloc(heap_body* heap, std::uint64_t id, std::size_t size,
                             std::size_t alignment) noexcept {
  if (heap == nullptr) [[unlikely]]
    return nullptr;
  if (alignment <= block_granule) [[likely]]
    return heap->allocate(id, size);
  return heap->allocate_slow(size, alignment);
}

void ashlar_rust_heap_dealloc(heap_body* heap, std::uint64_t id, void* block) noexcept {
  heap->deallocate(id, block, "dealloc");
}

// As ashlar_rust_realloc.
void* ashlar_rust_heap_realloc(heap_body* heap, void* block, std::size_t size) noexcept {
  return heap->reallocate(block, size, "realloc");
}

std::size_t ashlar_rust_heap_usable_size(heap_body* heap, const void* block) noexcept {
  return heap->usable_size(block, "usable_size");
}

std::size_t ashlar_rust_heap_trim(heap_body* heap) noexcept {
  return heap == nullptr ? 0 : heap->trim();
}

void ashlar_rust_heap_stats(heap_body* heap, ashlar_rust_heap_figures* to) noexcept {
  if (heap == nullptr) return;
  ashlar_stats all{};
  heap->collect(all);
  to->in_use = all.total.bytes_in_use;
  to->committed = all.total.committed_bytes;
  to->peak_committed = all.total.peak_committed_bytes;
}

}  // extern "C"
