// The pools of c_firmware.c, and what a firmware decides: where a misuse goes, and a line of statistics.
#include <cstddef>

#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_policy.hpp>

#include "board/platform.hpp"
#include "xallocator_static_pools.h"

XALLOCATOR_STATIC_POOLS(ashlar::blocks<32, 8>, ashlar::blocks<128, 2>, ashlar::spill::never,
                        ashlar::interrupt_mask<ashlar::cortex_m_primask>);

extern "C" void ashlar_fault(const ashlar::fault& what) noexcept {
  board::write_all("fault: ", ashlar::describe(what.kind), "\n");
  board::exit(100);
}
void xalloc_stats_line(const char*, std::size_t) noexcept {}
