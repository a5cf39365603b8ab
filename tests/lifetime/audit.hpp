// lifetime/audit.hpp: the process heap checks itself.
#pragma once

#include <tests/support/face.hpp>

#ifndef ASHLAR_FACE_DROP_IN
#include <ashlar/runtime/process_heap.hpp>
#endif

namespace face {

/// Effects: sorts back what the calling thread holds, which finds double frees; in the C face every
/// table of the heap is compared with every other, too. Ends the process with a fault if they differ.
/// Requires: no other thread uses the heap.
inline void audit() {
  trim();
#ifndef ASHLAR_FACE_DROP_IN
  ashlar::runtime::the_heap.audit();
#endif
}

}  // namespace face
