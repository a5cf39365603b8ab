// memory_tools/misuses_memory_pool.cpp: the classic Allocator<T> of memory_pool_allocator.h, whose name another
// classic header has too.
#include <iterator>

#include <memory_pool_allocator.h>

#include <ashlar/adapt/asan_report.hpp>

#include "misuses.hpp"

namespace {

struct order {
  char bytes[20];
};
struct classic_memory_pool : Allocator<order> {
  static constexpr std::size_t size = 20;
  static constexpr std::size_t distance = 24;
  void* take() { return allocate(1); }
  void give(void* p) { deallocate(static_cast<order*>(p), 1); }
};

const misuses::named_case cases[] = {
    MISUSE(classic_memory_pool, proper_use),
    MISUSE(classic_memory_pool, read_beyond_into_a_free_block),
    MISUSE(classic_memory_pool, read_of_a_free_block),
    MISUSE(classic_memory_pool, read_of_the_last_free_byte),
    MISUSE(classic_memory_pool, read_beyond_into_fresh_memory),
    MISUSE(classic_memory_pool, read_of_slack),
};

}  // namespace

int main(int count, char** names) {
  return misuses::run_cases(std::begin(cases), std::end(cases), count, names);
}
