/* Zephyr's memory slabs, as its reference documents them; what a slab consists of is its implementation's. */
#ifndef EXAMPLE_ZEPHYR_MEM_SLAB_H
#define EXAMPLE_ZEPHYR_MEM_SLAB_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct {
  int64_t ticks;
} k_timeout_t;
struct k_mem_slab {
  uint32_t pool[16];
};
int k_mem_slab_init(struct k_mem_slab* slab, void* buffer, size_t block_size, uint32_t num_blocks);
int k_mem_slab_alloc(struct k_mem_slab* slab, void** mem, k_timeout_t timeout);
void k_mem_slab_free(struct k_mem_slab* slab, void* mem);
uint32_t k_mem_slab_num_used_get(struct k_mem_slab* slab);
uint32_t k_mem_slab_max_used_get(struct k_mem_slab* slab);
uint32_t k_mem_slab_num_free_get(struct k_mem_slab* slab);
#ifdef __cplusplus
}
#endif
#endif
