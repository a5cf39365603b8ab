// misuse/corpus/pool_sets.cpp: a static_pool_set, with every check policy.
#include <cstddef>
#include <memory>

#include <ashlar/freestanding.hpp>

#include "component.hpp"

namespace {

using namespace ashlar;

constexpr std::size_t size_of_block = 64;

template <class... Policies>
using set = static_pool_set<blocks<size_of_block, 128>, blocks<2 * size_of_block, 32>, Policies...,
                            named<"corpus">>;

template <class Set>
struct site {
  alignas(64) Set set;
  alignas(64) std::byte behind[corpus::bytes_behind_max];
};
template <class Set>
site<Set>& the_site() {
  static site<Set> one;
  return one;
}

template <class Check>
constexpr corpus::component checked(const char* name) {
  using tested = set<Check>;
  return {
      .name = name,
      .block_size = size_of_block,
      .allocate = [](std::size_t size) { return the_site<tested>().set.try_allocate(size); },
      .release = [](void* p) { the_site<tested>().set.deallocate(p); },
      .settle = [] { return the_site<tested>().set.audit(); },
      .release_sized = [](void* p,
                          std::size_t size) { the_site<tested>().set.deallocate(p, size); },
      .take_from_another =
          [](std::size_t size) {
            static tested other;
            return other.try_allocate(size);
          },
      .leave_blocks =
          [] {
            const auto ends = std::make_unique<set<Check, at_death::report>>();
            for (int i = 0; i < 3; ++i) static_cast<void>(ends->try_allocate(size_of_block));
          },
      .bytes_behind = [] { return the_site<tested>().behind; },
  };
}

const corpus::component components[] = {
    checked<check::none>("pool_set/none"),
    checked<check::cheap>("pool_set/cheap"),
    checked<check::full<>>("pool_set/full"),
};

}  // namespace

int main(int argument_count, char** arguments) {
  return corpus::run(components, argument_count, arguments);
}
