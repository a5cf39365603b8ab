/* The prototypes of a FreeRTOS heap file, as its manual documents them (a project has them from portable.h). */
#ifndef EXAMPLE_FREERTOS_H
#define EXAMPLE_FREERTOS_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
void* pvPortMalloc(size_t size);
void vPortFree(void* block);
size_t xPortGetFreeHeapSize(void);
size_t xPortGetMinimumEverFreeHeapSize(void);
#ifdef __cplusplus
}
#endif
#endif
