// misuse/corpus/boost_pool.cpp: Boost.Pool, in process, for comparison.
#include <boost/pool/pool.hpp>
#include <cstddef>

#include "component.hpp"

namespace {

constexpr std::size_t size_of_block = 64;

boost::pool<>& corpus_pool() {
  static boost::pool<> one(size_of_block, 128);
  return one;
}

const corpus::component components[] = {{
    .name = "boost_pool",
    .block_size = size_of_block,
    .allocate = [](std::size_t size) -> void* {
      return size == size_of_block ? corpus_pool().malloc() : nullptr;
    },
    .release = [](void* p) { corpus_pool().free(p); },
    .take_from_another = [](std::size_t) -> void* {
      static boost::pool<> other(size_of_block, 128);
      return other.malloc();
    },
}};

}  // namespace

int main(int argument_count, char** arguments) {
  return corpus::run(components, argument_count, arguments);
}
