// bench/workloads/workloads.hpp: the workloads by name; each reads its arguments, measures, frees
// all and reports. README.md beside this says what each one times.
#pragma once

#include "harness.hpp"

namespace bench {

// one_thread.cpp
void pair(const arguments&);
void lifo(const arguments&);
void fifo(const arguments&);
void random_order(const arguments&);
void random_1m(const arguments&);
void churn(const arguments&);
void bulk(const arguments&);
// mixed_sizes.cpp
void bignum(const arguments&);
void pareto(const arguments&);
// latency.cpp
void latency(const arguments&);
void first_fill(const arguments&);
// growth.cpp
void growth(const arguments&);
// two_threads.cpp
void producer_consumer(const arguments&);
void larson(const arguments&);
void batches_2t(const arguments&);
void random_sizes(const arguments&);
void threads_short(const arguments&);
// servers.cpp
void server(const arguments&);
void asymmetric(const arguments&);
void phases(const arguments&);
void scaling(const arguments&);
// false_sharing.cpp
void false_sharing(const arguments&);
// big_blocks.cpp
void large(const arguments&);
void medium(const arguments&);
void huge(const arguments&);
void realloc_growth(const arguments&);
void growing_buffers(const arguments&);
void calloc_large(const arguments&);
// fragmentation.cpp
void checkerboard(const arguments&);
void sawtooth(const arguments&);
void robson(const arguments&);
void drift(const arguments&);
void survivors(const arguments&);
void pinned(const arguments&);
// idle.cpp
void idle(const arguments&);
void idle_after_peak(const arguments&);
// programs.cpp
void containers(const arguments&);
void strings(const arguments&);
void startup(const arguments&);

}  // namespace bench
