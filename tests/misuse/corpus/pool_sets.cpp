// misuse/corpus/pool_sets.cpp: a static_pool_set, with every check policy.

#include <tests/misuse/faults.h>

#include <ashlar/freestanding.hpp>

namespace {

using namespace ashlar;

constexpr std::size_t size_of_block = 64;

template <class... Policies>
using set = static_pool_set<blocks<size_of_block, 128>, blocks<2 * size_of_block, 32>, Policies...,
                            named<"corpus">>;

template <class Set>
struct site {
  alignas(64) Set set;
  alignas(64) byte behind[bytes_behind_max];
};
template <class Set>
site<Set>& the_site() {
  static site<Set> one;
  return one;
}

template <class Check>
constexpr component checked(const char* name) {
  using tested = set<Check>;
  return {
      .name = name,
      .allocate = [](std::size_t size) { return the_site<tested>().set.try_allocate(size); },
      .release = [](void* p) { the_site<tested>().set.deallocate(p); },
      .settle = [] { return the_site<tested>().set.audit(); },
      .is_bounded = true,
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

}  // namespace

const component components[] = {
    checked<check::none>("pool_set/none"),
    checked<check::cheap>("pool_set/cheap"),
    checked<check::full<>>("pool_set/full"),
    {},
};
