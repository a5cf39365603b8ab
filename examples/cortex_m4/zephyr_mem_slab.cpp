// Zephyr's memory slabs over a buffer of exactly num_blocks * block_size bytes, which is what they are given: so the free
// blocks are linked through themselves and nothing is checked. A timeout is not waited for: that is the kernel's.
#include "prototypes/zephyr_mem_slab.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/pool/fixed_pool.hpp>

namespace {

using blocks =
    ashlar::fixed_pool<ashlar::check::none, ashlar::interrupt_mask<ashlar::cortex_m_primask>>;
static_assert(sizeof(blocks) <= sizeof(k_mem_slab) && alignof(blocks) <= alignof(k_mem_slab));

blocks& of(k_mem_slab* slab) noexcept {
  return *std::launder(reinterpret_cast<blocks*>(slab->pool));
}

}  // namespace

int k_mem_slab_init(k_mem_slab* slab, void* buffer, std::size_t block_size,
                    std::uint32_t num_blocks) {
  if (block_size % sizeof(void*) != 0 || !ashlar::is_aligned(buffer, sizeof(void*))) return -EINVAL;
  ::new (slab->pool) blocks({block_size, sizeof(void*)},
                            std::span(static_cast<std::byte*>(buffer), num_blocks * block_size));
  return 0;
}
int k_mem_slab_alloc(k_mem_slab* slab, void** mem, k_timeout_t) {
  *mem = of(slab).allocate();
  return *mem == nullptr ? -ENOMEM : 0;
}
void k_mem_slab_free(k_mem_slab* slab, void* mem) { of(slab).deallocate(mem); }
std::uint32_t k_mem_slab_num_used_get(k_mem_slab* slab) {
  return static_cast<std::uint32_t>(of(slab).stats().blocks_in_use);
}
std::uint32_t k_mem_slab_max_used_get(k_mem_slab* slab) {
  return static_cast<std::uint32_t>(of(slab).stats().peak_in_use);
}
std::uint32_t k_mem_slab_num_free_get(k_mem_slab* slab) {
  return static_cast<std::uint32_t>(of(slab).capacity()) - k_mem_slab_num_used_get(slab);
}
