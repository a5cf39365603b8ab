// compat/alloc_with_pool.h: the file name under which the document's tests include its
// Allocator<T>.
// Layer: compat.
#pragma once

#include "memory_pool_allocator.h"
