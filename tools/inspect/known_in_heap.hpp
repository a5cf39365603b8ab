// tools/inspect/known_in_heap.hpp: what checks and samples know, put into what was read of the heap.
// Layer: inspect.
#pragma once

#include <cstdint>

#include "tools/inspect/heap_reader.hpp"

namespace ashlar::inspect {

/// Returns: the figures of blocks of that size, which are there from now on; 0: of large blocks.
class_blocks& class_of(heap_contents& heaps, std::uint64_t block_size);

/// Effects: adds the slots of guarded blocks, and the blocks in them that are in use. Requires:
/// heaps.known; what is sorted is sorted afterwards.
void add_guarded(heap_contents& heaps);

/// Effects: each block has the size and the address that its caller knows. A block that full checks
/// keep after its free is not in use. A sample, which has pages of its own, counts as one of its class.
/// Requires: the blocks are sorted.
void apply_known(heap_contents& heaps);

}  // namespace ashlar::inspect
