// dropin/interpose_macos.cpp: the malloc family of libashlar-malloc.dylib, and what the loader puts
// it in place of.
// Layer: dropin. docs/decisions/0002 tells what else was thought of.
//
// The loader replaces each function of the table below in all images but this one. So in this file
// the system's own names are the system's functions. Not all blocks of a process are this heap's:
// the loader and the system's libraries allocate before it is there, and programs have zones of the
// system. So every function that is given a block asks first whose it is.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include <malloc/malloc.h>

#include <ashlar/adapt/c_rules.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/dropin/interposed_thread.hpp>
#include <ashlar/runtime/drop_in.hpp>
#include <ashlar/runtime/process_heap.hpp>

namespace ashlar::runtime {

// A sanitizer is not preloaded beside this library: both would replace the same functions.
bool serves_this_process() noexcept { return true; }
// operator new and delete are the C++ library's, which call malloc and free.
bool serves_all_operators() noexcept { return true; }

}  // namespace ashlar::runtime

namespace ashlar::interposed {
namespace {

// ---- whose a block is ---------------------------------------------------------------------------

/// Returns: whether the block is this heap's. Then the thread may use the heap: one whose objects
/// are gone does without a cache.
[[nodiscard]] bool is_ours(const void* block) noexcept {
  if (!runtime::holds(block)) return false;
  if (!is_ready()) runtime::use_no_cache();
  return true;
}

ASHLAR_COLD void free_missed(void* block, const char* call) noexcept {
  if (block == nullptr) return;
  if (is_ours(block))
    runtime::deallocate_slow(block, call);
  else
    ::free(block);
}

/// Effects: frees a block as `call`, whoever has it.
ASHLAR_HOT void release(void* block, const char* call) noexcept {
  if (!is_ready() || !runtime::process_hits::try_deallocate(runtime::tops(), block)) [[unlikely]]
    free_missed(block, call);
}

/// As realloc of a block of this heap. The system's rule for 0 bytes: the smallest block.
void* resize(void* block, std::size_t size) noexcept {
  return c_rules::reallocate(block, std::max<std::size_t>(size, 1), "realloc");
}

// ---- the functions ------------------------------------------------------------------------------

void* own_malloc(std::size_t size) noexcept {
  return is_ready() ? c_rules::allocate(size, "malloc") : ::malloc(size);
}
void* own_calloc(std::size_t count, std::size_t size) noexcept {
  return is_ready() ? c_rules::allocate_zeroed(count, size, "calloc") : ::calloc(count, size);
}
void* own_valloc(std::size_t size) noexcept {
  return is_ready() ? c_rules::allocate_aligned(detail::page_size, size, "valloc") : ::valloc(size);
}
void* own_aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return is_ready() ? c_rules::allocate_aligned(alignment, size, "aligned_alloc")
                    : ::aligned_alloc(alignment, size);
}
int own_posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  if (!is_ready()) return ::posix_memalign(result, alignment, size);
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* const block = runtime::allocate_aligned(size, alignment, "posix_memalign");
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}
void own_free(void* block) noexcept { release(block, "free"); }
void* own_realloc(void* block, std::size_t size) noexcept {
  if (block == nullptr) return own_malloc(size);
  return is_ours(block) ? resize(block, size) : ::realloc(block, size);
}
void* own_reallocf(void* block, std::size_t size) noexcept {
  void* const after = own_realloc(block, size);
  if (after == nullptr) release(block, "reallocf");
  return after;
}
std::size_t own_malloc_size(const void* block) noexcept {
  if (!is_ours(block)) return ::malloc_size(block);
  // Programs ask it of any address, to learn whether it is a block.
  return runtime::is_live(block) ? c_rules::usable_size(block, "malloc_size") : 0;
}
std::size_t own_malloc_good_size(std::size_t size) noexcept {
  using classes = runtime::process_heap::classes;
  const class_index c = classes::class_for(size, 1);
  if (c != 0) return classes::block_size(c);
  std::size_t whole_pages = 0;
  return align_up_checked(size, detail::page_size, whole_pages) ? whole_pages : size;
}

// The system's zones keep their own blocks. But a zone may be told of one of this heap: malloc and
// the default zone have been the same to programs.
void own_zone_free(malloc_zone_t* zone, void* block) noexcept {
  if (is_ours(block))
    runtime::deallocate(block, "malloc_zone_free");
  else
    ::malloc_zone_free(zone, block);
}
void* own_zone_realloc(malloc_zone_t* zone, void* block, std::size_t size) noexcept {
  return is_ours(block) ? resize(block, size) : ::malloc_zone_realloc(zone, block, size);
}
malloc_zone_t* own_zone_from_ptr(const void* block) noexcept {
  return is_ours(block) ? ::malloc_default_zone() : ::malloc_zone_from_ptr(block);
}
void own_zone_batch_free(malloc_zone_t* zone, void** blocks, unsigned count) noexcept {
  for (unsigned i = 0; i < count; ++i) own_zone_free(zone, blocks[i]);
}
std::size_t own_zone_pressure_relief(malloc_zone_t* zone, std::size_t goal) noexcept {
  const std::size_t of_zones = ::malloc_zone_pressure_relief(zone, goal);
  return zone == nullptr && is_ready() ? of_zones + runtime::trim() : of_zones;
}

// What compilers call since macOS 14 instead, with a number for the type of the block. It is not
// looked at.
void* own_type_malloc(std::size_t size, malloc_type_id_t) noexcept { return own_malloc(size); }
void* own_type_calloc(std::size_t count, std::size_t size, malloc_type_id_t) noexcept {
  return own_calloc(count, size);
}
void own_type_free(void* block, malloc_type_id_t) noexcept { own_free(block); }
void* own_type_realloc(void* block, std::size_t size, malloc_type_id_t) noexcept {
  return own_realloc(block, size);
}
void* own_type_valloc(std::size_t size, malloc_type_id_t) noexcept { return own_valloc(size); }
void* own_type_aligned_alloc(std::size_t alignment, std::size_t size, malloc_type_id_t) noexcept {
  return own_aligned_alloc(alignment, size);
}
int own_type_posix_memalign(void** result, std::size_t alignment, std::size_t size,
                            malloc_type_id_t) noexcept {
  return own_posix_memalign(result, alignment, size);
}
void own_type_zone_free(malloc_zone_t* zone, void* block, malloc_type_id_t) noexcept {
  own_zone_free(zone, block);
}
void* own_type_zone_realloc(malloc_zone_t* zone, void* block, std::size_t size,
                            malloc_type_id_t) noexcept {
  return own_zone_realloc(zone, block, size);
}

// ---- what the loader reads ----------------------------------------------------------------------

/// The loader passes over a pair whose second function this system does not have.
template <class Function>
struct replaced {
  Function* own;
  Function* systems;
};
#define ASHLAR_REPLACES(name, by)                                                            \
  [[gnu::used,                                                                               \
    gnu::section(                                                                            \
        "__DATA,__interpose")]] constinit const replaced<decltype(::name)> replaced_##name { \
    &by, &::name                                                                             \
  }

ASHLAR_REPLACES(malloc, own_malloc);
ASHLAR_REPLACES(calloc, own_calloc);
ASHLAR_REPLACES(valloc, own_valloc);
ASHLAR_REPLACES(aligned_alloc, own_aligned_alloc);
ASHLAR_REPLACES(posix_memalign, own_posix_memalign);
ASHLAR_REPLACES(free, own_free);
ASHLAR_REPLACES(realloc, own_realloc);
ASHLAR_REPLACES(reallocf, own_reallocf);
ASHLAR_REPLACES(malloc_size, own_malloc_size);
ASHLAR_REPLACES(malloc_good_size, own_malloc_good_size);
ASHLAR_REPLACES(malloc_zone_free, own_zone_free);
ASHLAR_REPLACES(malloc_zone_realloc, own_zone_realloc);
ASHLAR_REPLACES(malloc_zone_from_ptr, own_zone_from_ptr);
ASHLAR_REPLACES(malloc_zone_batch_free, own_zone_batch_free);
ASHLAR_REPLACES(malloc_zone_pressure_relief, own_zone_pressure_relief);
// Weak where the library may run on an older system: their addresses are taken, and nothing calls
// them.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunguarded-availability-new"
ASHLAR_REPLACES(malloc_type_malloc, own_type_malloc);
ASHLAR_REPLACES(malloc_type_calloc, own_type_calloc);
ASHLAR_REPLACES(malloc_type_valloc, own_type_valloc);
ASHLAR_REPLACES(malloc_type_aligned_alloc, own_type_aligned_alloc);
ASHLAR_REPLACES(malloc_type_posix_memalign, own_type_posix_memalign);
ASHLAR_REPLACES(malloc_type_free, own_type_free);
ASHLAR_REPLACES(malloc_type_realloc, own_type_realloc);
ASHLAR_REPLACES(malloc_type_zone_free, own_type_zone_free);
ASHLAR_REPLACES(malloc_type_zone_realloc, own_type_zone_realloc);
#pragma clang diagnostic pop

}  // namespace
}  // namespace ashlar::interposed
