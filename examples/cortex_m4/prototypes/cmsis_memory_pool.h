/* The memory pools of CMSIS-RTOS2, as its reference documents them (a project has them from cmsis_os2.h). */
#ifndef EXAMPLE_CMSIS_MEMORY_POOL_H
#define EXAMPLE_CMSIS_MEMORY_POOL_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef void* osMemoryPoolId_t;
typedef enum { osOK = 0, osErrorResource = -3, osErrorParameter = -4 } osStatus_t;
typedef struct {
  const char* name;
  uint32_t attr_bits;
  void* cb_mem;
  uint32_t cb_size;
  void* mp_mem;
  uint32_t mp_size;
} osMemoryPoolAttr_t;
osMemoryPoolId_t osMemoryPoolNew(uint32_t block_count, uint32_t block_size,
                                 const osMemoryPoolAttr_t* attr);
const char* osMemoryPoolGetName(osMemoryPoolId_t mp_id);
void* osMemoryPoolAlloc(osMemoryPoolId_t mp_id, uint32_t timeout);
osStatus_t osMemoryPoolFree(osMemoryPoolId_t mp_id, void* block);
uint32_t osMemoryPoolGetCapacity(osMemoryPoolId_t mp_id);
uint32_t osMemoryPoolGetBlockSize(osMemoryPoolId_t mp_id);
uint32_t osMemoryPoolGetCount(osMemoryPoolId_t mp_id);
uint32_t osMemoryPoolGetSpace(osMemoryPoolId_t mp_id);
osStatus_t osMemoryPoolDelete(osMemoryPoolId_t mp_id);
#ifdef __cplusplus
}
#endif
#endif
