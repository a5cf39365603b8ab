// The forwarding files of examples/cortex_m4 on the board: each function by its documented name does what is documented.
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/fault.hpp>

#include "board/semihosting.hpp"
#include "prototypes/cmsis_memory_pool.h"
#include "prototypes/freertos.h"
#include "prototypes/zephyr_mem_slab.h"

namespace {

void check_that(bool holds, int step) noexcept {
  if (!holds) board::exit(step);
}

void freertos() noexcept {
  const std::size_t all = xPortGetFreeHeapSize();
  check_that(all == 32 * 8 + 128 * 4 + 512 * 2 && xPortGetMinimumEverFreeHeapSize() == all, 1);
  void* const a = pvPortMalloc(30);
  void* const b = pvPortMalloc(129);
  check_that(a != nullptr && b != nullptr && ashlar::is_aligned(b, 8), 2);
  check_that(xPortGetFreeHeapSize() == all - 32 - 512, 3);
  vPortFree(a);
  vPortFree(b);
  vPortFree(nullptr);
  check_that(xPortGetFreeHeapSize() == all && xPortGetMinimumEverFreeHeapSize() == all - 32 - 512,
             4);
  check_that(pvPortMalloc(513) == nullptr, 5);
}

void cmsis() noexcept {
  alignas(8) static std::byte control[96];
  alignas(8) static std::byte memory[10 * 24];
  const osMemoryPoolAttr_t attributes{"events", 0, control, sizeof control, memory, sizeof memory};
  const osMemoryPoolId_t pool = osMemoryPoolNew(8, 24, &attributes);
  check_that(pool != nullptr && osMemoryPoolGetName(pool) == attributes.name, 10);
  const std::uint32_t capacity = osMemoryPoolGetCapacity(pool);
  check_that(capacity >= 8 && osMemoryPoolGetBlockSize(pool) == 24 &&
                 osMemoryPoolGetSpace(pool) == capacity,
             11);
  void* first = nullptr;
  for (std::uint32_t i = 0; i < capacity; ++i) {
    void* const p = osMemoryPoolAlloc(pool, 0);
    check_that(p != nullptr, 12);
    first = first == nullptr ? p : first;
  }
  check_that(osMemoryPoolAlloc(pool, 0) == nullptr && osMemoryPoolGetCount(pool) == capacity, 13);
  check_that(osMemoryPoolFree(pool, first) == osOK && osMemoryPoolGetSpace(pool) == 1, 14);
  check_that(osMemoryPoolFree(pool, control) == osErrorParameter, 15);
  check_that(osMemoryPoolFree(nullptr, first) == osErrorParameter, 16);
  check_that(osMemoryPoolDelete(pool) == osOK, 17);
  osMemoryPoolAttr_t wrong = attributes;
  wrong.mp_size = 100;
  check_that(
      osMemoryPoolNew(8, 24, &wrong) == nullptr && osMemoryPoolNew(0, 24, &attributes) == nullptr,
      18);
  check_that(osMemoryPoolNew(8, 24, nullptr) == nullptr, 19);
}

void zephyr() noexcept {
  alignas(8) static std::byte buffer[5 * 20];
  static k_mem_slab slab;
  check_that(k_mem_slab_init(&slab, buffer, 18, 5) == -EINVAL, 20);
  check_that(k_mem_slab_init(&slab, buffer + 1, 20, 4) == -EINVAL, 21);
  check_that(k_mem_slab_init(&slab, buffer, 20, 5) == 0 && k_mem_slab_num_free_get(&slab) == 5, 22);
  void* blocks[5];
  for (void*& p : blocks) check_that(k_mem_slab_alloc(&slab, &p, {0}) == 0, 23);
  void* none = blocks;
  check_that(k_mem_slab_alloc(&slab, &none, {0}) == -ENOMEM && none == nullptr, 24);
  for (void* p : blocks) k_mem_slab_free(&slab, p);
  check_that(k_mem_slab_num_used_get(&slab) == 0 && k_mem_slab_max_used_get(&slab) == 5, 25);
}

}  // namespace

extern "C" void ashlar_fault(const ashlar::fault&) noexcept { board::exit(100); }

int main() {
  freertos();
  cmsis();
  zephyr();
  return 0;
}
