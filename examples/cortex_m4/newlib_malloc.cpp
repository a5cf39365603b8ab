// newlib's heap as static pools: malloc, printf and whatever third-party code calls them run on these blocks, unchanged.
// newlib's own functions call the _r family; who defines it replaces the heap, and _sbrk is not linked any more.
// A request gets the smallest size that has a block left. There is no lock: add one where interrupt handlers allocate.
#include <cstddef>

#include <ashlar/compat/xmalloc_pools.hpp>
#include <ashlar/pool/pool_map.hpp>

namespace {

using pools =
    ashlar::static_xmalloc<ashlar::blocks<32, 16>, ashlar::blocks<128, 8>, ashlar::blocks<512, 4>,
                           ashlar::blocks<1024, 2>, ashlar::no_lock, ashlar::named<"newlib">>;
constinit pools heap;

ASHLAR_POOL_MAP(heap);

}  // namespace

extern "C" {
struct _reent;  // NOLINT(bugprone-reserved-identifier): newlib's

void* _malloc_r(_reent*, std::size_t size) noexcept { return heap.allocate(size); }
void _free_r(_reent*, void* p) noexcept { heap.deallocate(p); }
void* _realloc_r(_reent*, void* p, std::size_t size) noexcept { return heap.reallocate(p, size); }
void* _calloc_r(_reent*, std::size_t count, std::size_t size) noexcept {
  return heap.allocate_zeroed(count, size);
}
void* _memalign_r(_reent*, std::size_t alignment, std::size_t size) noexcept {
  return heap.allocate_aligned(alignment, size);
}
std::size_t _malloc_usable_size_r(_reent*, void* p) noexcept { return heap.usable_size(p); }
}
