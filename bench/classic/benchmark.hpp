// bench/classic/benchmark.hpp: the documents' benchmarks as functions, found by name.
// A benchmark does one run and returns what that run took; the caller repeats it in one process, as the
// documents do (their first run is cold, the others warm). Each exists on several sides:
//   original  the document's algorithm, written anew from its description (bench/classic/originals)
//   ashlar    the ashlar face of the document's own name, with its default promises
//   bare      that face with the original's promises only: no checks, no counts, no lock where the
//             original has none. Only where that is something else
//   system    the C library's malloc
#pragma once

#include <chrono>
#include <ctime>
#include <string_view>
#include <vector>

namespace classic {

using microseconds = std::chrono::duration<double, std::micro>;

/// What one run measured. Most benchmarks have one figure; those that the documents split have two.
struct figures {
  std::vector<microseconds> parts;
};

struct side {
  std::string_view name;
  figures (*run)();
};

struct benchmark {
  std::string_view name;  ///< document and algorithm, as in bench/classic/documents.json
  std::vector<std::string_view> parts;  ///< what figures::parts are, in order
  std::vector<side> sides;
  bool once = false;  ///< a process can do one run only: its pool never uses a block again
};

/// Returns: the benchmarks of one document.
std::vector<benchmark> xallocator_benchmarks();
std::vector<benchmark> stl_allocator_benchmarks();
std::vector<benchmark> mem_manager_benchmarks();
std::vector<benchmark> memory_pool_benchmarks();
std::vector<benchmark> arena_benchmarks();

/// Returns: the processor time that `work()` takes, which has one thread: other load of the machine
/// is not in it.
template <class Work>
microseconds timed(Work&& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const auto start = now();
  work();
  return now() - start;
}
/// Returns: the wall time, for work of several threads: what they wait for each other counts.
template <class Work>
microseconds timed_by_wall(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - start;
}

/// Effects: the compiler must assume that `object` is read and written here.
template <class T>
void keep(T& object) {
  asm volatile("" : : "r"(&object) : "memory");
}

}  // namespace classic
