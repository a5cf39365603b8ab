// CMSIS-RTOS2's memory pools in the caller's memory: cb_mem and mp_mem are needed, nothing is taken from elsewhere.
// A timeout is not waited for: that is the kernel's, around this. A block that is freed wrongly is ashlar_fault.
#include "prototypes/cmsis_memory_pool.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/pool/fixed_pool.hpp>

namespace {

struct memory_pool {
  using blocks = ashlar::fixed_pool<ashlar::interrupt_mask<ashlar::cortex_m_primask>>;
  static constexpr std::size_t alignment = 4;  // what CMSIS promises of a block

  memory_pool(const osMemoryPoolAttr_t& from, std::uint32_t block_size) noexcept
      : name(from.name),
        pool({block_size, alignment},
             std::span(static_cast<std::byte*>(from.mp_mem), from.mp_size)) {}

  const char* name;
  blocks pool;
};
memory_pool* of(osMemoryPoolId_t id) noexcept { return static_cast<memory_pool*>(id); }
std::uint32_t narrow(std::size_t n) noexcept { return static_cast<std::uint32_t>(n); }

}  // namespace

osMemoryPoolId_t osMemoryPoolNew(uint32_t block_count, uint32_t block_size,
                                 const osMemoryPoolAttr_t* attr) {
  if (block_count == 0 || block_size == 0 || attr == nullptr || attr->mp_mem == nullptr)
    return nullptr;
  if (attr->cb_size < sizeof(memory_pool) ||
      !ashlar::is_aligned(attr->cb_mem, alignof(memory_pool)))
    return nullptr;
  auto* const made = ::new (attr->cb_mem) memory_pool(*attr, block_size);
  return made->pool.capacity() < block_count ? nullptr : made;
}
const char* osMemoryPoolGetName(osMemoryPoolId_t mp_id) {
  return mp_id == nullptr ? nullptr : of(mp_id)->name;
}
void* osMemoryPoolAlloc(osMemoryPoolId_t mp_id, uint32_t) {
  return mp_id == nullptr ? nullptr : of(mp_id)->pool.allocate();
}
osStatus_t osMemoryPoolFree(osMemoryPoolId_t mp_id, void* block) {
  if (mp_id == nullptr || !of(mp_id)->pool.owns(block)) return osErrorParameter;
  of(mp_id)->pool.deallocate(block);
  return osOK;
}
uint32_t osMemoryPoolGetCapacity(osMemoryPoolId_t mp_id) {
  return mp_id == nullptr ? 0 : narrow(of(mp_id)->pool.capacity());
}
uint32_t osMemoryPoolGetBlockSize(osMemoryPoolId_t mp_id) {
  return mp_id == nullptr ? 0 : narrow(of(mp_id)->pool.block_size());
}
uint32_t osMemoryPoolGetCount(osMemoryPoolId_t mp_id) {
  return mp_id == nullptr ? 0 : narrow(of(mp_id)->pool.stats().blocks_in_use);
}
uint32_t osMemoryPoolGetSpace(osMemoryPoolId_t mp_id) {
  return osMemoryPoolGetCapacity(mp_id) - osMemoryPoolGetCount(mp_id);
}
osStatus_t osMemoryPoolDelete(osMemoryPoolId_t mp_id) {
  if (mp_id == nullptr) return osErrorParameter;
  std::destroy_at(of(mp_id));
  return osOK;
}
