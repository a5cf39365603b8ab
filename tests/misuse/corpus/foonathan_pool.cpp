// misuse/corpus/foonathan_pool.cpp: foonathan/memory, in process, for comparison, as its package is configured.
#include <cstddef>
#include <foonathan/memory/memory_pool.hpp>

#include "component.hpp"

namespace {

using pool = foonathan::memory::memory_pool<foonathan::memory::node_pool>;
constexpr std::size_t size_of_block = 64;

pool& corpus_pool() {
  static pool one(size_of_block, pool::min_block_size(size_of_block, 128));
  return one;
}

const corpus::component components[] = {{
    .name = "foonathan_pool",
    .block_size = size_of_block,
    .allocate = [](std::size_t size) -> void* {
      return size == size_of_block ? corpus_pool().allocate_node() : nullptr;
    },
    .release = [](void* p) { corpus_pool().deallocate_node(p); },
    .take_from_another = [](std::size_t) -> void* {
      static pool other(size_of_block, pool::min_block_size(size_of_block, 128));
      return other.allocate_node();
    },
}};

}  // namespace

int main(int argument_count, char** arguments) {
  return corpus::run(components, argument_count, arguments);
}
