// bench/in_process/rows.hpp: the groups of allocators that pools_bench has, in the table's order.
#pragma once

namespace pools_bench {

void add_ashlar();
void add_peers();
void add_limits();

}  // namespace pools_bench
