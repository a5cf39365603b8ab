// What a lock and an unlock cost: while the process has one thread, and after it has started
// another.
#include <mutex>
#include <thread>

#include <benchmark/benchmark.h>

#include <ashlar/core/lock_policy.hpp>
#include <ashlar/os/mutex.hpp>

namespace {

template <class Lock>
void lock_and_unlock(benchmark::State& state) {
  static Lock lock;
  for (auto _ : state) {
    lock.lock();
    benchmark::ClobberMemory();
    lock.unlock();
  }
}
template <class Lock>
void after_a_thread(benchmark::State& state) {
  static std::jthread other(
      [] {});  // from here on the C library takes the process for multi-threaded
  lock_and_unlock<Lock>(state);
}

// In this order: a process that has started a thread stays one that has.
BENCHMARK(lock_and_unlock<ashlar::os::mutex>);
BENCHMARK(lock_and_unlock<std::mutex>);
BENCHMARK(lock_and_unlock<ashlar::spin_lock>);
BENCHMARK(after_a_thread<ashlar::os::mutex>);
BENCHMARK(after_a_thread<std::mutex>);
BENCHMARK(after_a_thread<ashlar::spin_lock>);

}  // namespace
