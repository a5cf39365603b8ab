// tools/shim/memory_at_end.hpp: what the process has in memory when it ends. Layer: shim.
//
// The recorder looks from outside, but never knows which look is the last one, and sees little of a
// process that ends at once. So the process looks at itself when it exits. It asks for all its
// mappings only where it has more in memory than the recorder saw.
#pragma once

namespace ashlar::shim {

/// Effects: records it. errno is kept. Requires: is_on(), this thread is not inside an event, and
/// no sandbox forbids to open files. Only the first call has an effect.
void put_memory_at_end();

}  // namespace ashlar::shim
