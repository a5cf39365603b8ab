// compat/alloc_with_pool.h: the file name under which the document's tests include its
// Allocator<T>.
// Layer: compat.
#pragma once

#include <chrono>  // one of those tests has it from where it was written, behind <random>

#include "memory_pool_allocator.h"
