// A FreeRTOS heap file over a pool set: constant time, no fragmentation, usable in interrupt handlers.
#include <cstddef>

#include <ashlar/core/lock_policy.hpp>
#include <ashlar/pool/pool_map.hpp>
#include <ashlar/pool/pool_set.hpp>

#include "prototypes/freertos.h"

namespace {

constinit ashlar::static_pool_set<
    ashlar::blocks<32, 8>, ashlar::blocks<128, 4>, ashlar::blocks<512, 2>,
    ashlar::interrupt_mask<ashlar::cortex_m_primask>, ashlar::named<"FreeRTOS">>
    task_memory;

ASHLAR_POOL_MAP(task_memory);

}  // namespace

void* pvPortMalloc(std::size_t size) { return task_memory.allocate(size); }
void vPortFree(void* block) { task_memory.deallocate(block); }
std::size_t xPortGetFreeHeapSize() {
  const auto figures = task_memory.stats();
  return figures.capacity_bytes() - figures.bytes_in_use();
}
// A lower bound: the classes' peaks need not have been at one time.
std::size_t xPortGetMinimumEverFreeHeapSize() {
  const auto figures = task_memory.stats();
  return figures.capacity_bytes() - figures.bytes_at_peaks();
}
