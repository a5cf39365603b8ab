// bench/workloads/workloads.hpp: the workloads by name; each reads its arguments, measures, frees
// all and reports. README.md beside this says what each one times.
#pragma once

#include "harness.hpp"

namespace bench {

// Of each workload: its function, which is also its name, its parameters, what it does.
// clang-format off
#define BENCH_WORKLOADS(X) \
  X(pair, "SIZE", "malloc, free, again: the hit path") \
  X(lifo, "SIZE", "10,000 allocated, freed in reverse order") \
  X(fifo, "SIZE", "10,000 allocated, freed in the same order") \
  X(random, "SIZE", "10,000 allocated, freed in shuffled order") \
  X(random_1m, "[touch]", "1,000,000 of 64 bytes, freed in shuffled order") \
  X(churn, "SIZE COUNT [touch]", "COUNT live; free a random one, allocate one") \
  X(bulk, "COUNT SIZE|mixed", "COUNT objects built, then all freed; first and warm rounds") \
  X(bignum, "", "8..64 bytes that live for a few operations: values of expressions") \
  X(pareto, "LIVE_BYTES", "16 bytes..64 KiB, Pareto; random replacement") \
  X(latency, "", "churn of 50,000 live blocks of 16..1024 bytes: percentiles") \
  X(first_fill, "", "the first 200,000 blocks of a process: mean and p99.99") \
  X(growth, "LIVE", "16-byte blocks: build and churn as their number grows") \
  X(producer_consumer, "", "one thread allocates 16..256 bytes, another frees") \
  X(larson, "LOW HIGH", "two threads replace random blocks, arrays change hands") \
  X(batches_2t, "SIZE [touch]", "two threads exchange batches of 1,000 and free the other's") \
  X(random_sizes, "", "two threads, 16..16,000 bytes, 500 live each") \
  X(threads_short, "[LOW HIGH]", "10,000 threads, each allocates and frees 1,000 blocks") \
  X(server, "THREADS", "each replaces its objects; one in 16 is swapped with other threads") \
  X(asymmetric, "PRODUCERS CONSUMERS", "one thread allocates for several, or several for one") \
  X(phases, "", "sizes shift, threads end, survivors are freed by the next threads") \
  X(false_sharing, "active|passive", "two threads write to their own blocks") \
  X(scaling, "THREADS", "threads that share nothing, 1,000 live each") \
  X(many_threads, "idle|busy THREADS SIZE [REPLACEMENTS]", "threads by the hundred, each with 200 blocks") \
  X(medium, "[touch]", "1 KiB..128 KiB log-uniform, 1,000 live") \
  X(large, "[touch]", "32 KiB..64 MiB log-uniform, 16 live, at most 256 MiB") \
  X(huge, "[touch]", "1 MiB..64 MiB log-uniform, 8 live, at most 128 MiB") \
  X(calloc_large, "", "calloc of 64 KiB..4 MiB, each page written, 8 live") \
  X(realloc_growth, "vector|strings", "growth by half by realloc") \
  X(growing_buffers, "LOW HIGH STEP [THREADS]", "100 buffers that grow in turn by realloc, from LOW to HIGH bytes") \
  X(checkerboard, "SIZE", "every second block freed, then blocks too wide for the holes") \
  X(sawtooth, "", "ramps of rising sizes, 2 % of each stays") \
  X(robson, "", "powers of two, keeping the blocks that spoil the most places") \
  X(drift, "", "random replacement while the sizes go from 200 to 1,200 bytes") \
  X(survivors, "", "15 of 16 small blocks freed at random, then larger ones") \
  X(pinned, "", "batches of 500 blocks, of which one each stays") \
  X(containers, "list|map|unordered_map|strings", "insert 10,000, clear") \
  X(strings, "append|join", "texts that grow by pieces; words joined and cut") \
  X(idle, "", "resident memory and page tables after one malloc") \
  X(idle_after_peak, "quiet|ticking|light", "512 MiB built, 95 % freed: what is held 0..10 s later") \
  X(startup, "", "start and end of a process that does nothing")
// clang-format on

#define BENCH_DECLARED(name, parameters, what) void name(const arguments&);
BENCH_WORKLOADS(BENCH_DECLARED)
#undef BENCH_DECLARED

}  // namespace bench
