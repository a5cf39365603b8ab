// The header that `ashlar tune` wrote, compiled: its pools serve the trace that they were chosen for, and a capacity less
// by one does not.

#include <tests/support/test_headers.hpp>

#include <ashlar/adapt/process_source.hpp>

#include "pools.hpp"
#include "tools/trace/lifetimes.hpp"
#include "tools/trace/source.hpp"

namespace {

using ashlar::trace::step;

std::vector<step> sample() {
  ashlar::trace::trace_reader reader(ashlar::trace::open_file_source(ASHLAR_SAMPLE_TRACE));
  ashlar::trace::lifetimes blocks(reader);
  std::vector<step> steps;
  for (step s; blocks.next(s);) {
    if (s.happened == step::what::birth || s.happened == step::what::death) steps.push_back(s);
  }
  return steps;
}

constexpr std::size_t alignment_of(const step& s) { return s.alignment < 16 ? 16 : s.alignment; }

// Returns: how many requests of the sample the set cannot serve.
template <class Set>
std::size_t failures(Set& set) {
  std::vector<void*> in_slot;
  std::size_t failed = 0;
  for (const step& s : sample()) {
    if (s.slot >= in_slot.size()) in_slot.resize(s.slot + std::size_t{1});
    if (s.happened == step::what::birth) {
      in_slot[s.slot] = set.try_allocate(s.size, alignment_of(s));
      failed += in_slot[s.slot] == nullptr;
    } else {
      set.deallocate(std::exchange(in_slot[s.slot], nullptr), s.size, alignment_of(s));
    }
  }
  return failed;
}

TEST(TunedPools, ServeTheirTraceAndAreUsedUpByIt) {
  static constinit sample::ashlar::static_pools<> set;
  static_assert(sample::ashlar::total_bytes == sizeof set);
  EXPECT_GT(sample().size(), 10'000u);
  EXPECT_EQ(failures(set), 0u);
  for (std::size_t c = 0; c < set.class_count; ++c) {
    EXPECT_EQ(set.stats().classes[c].peak_in_use, sample::ashlar::classes[c].peak) << c;
    EXPECT_EQ(set.stats().classes[c].capacity, sample::ashlar::classes[c].capacity) << c;
  }
  EXPECT_TRUE(set.audit());
}

TEST(TunedPools, ServeItFromAPageSourceToo) {
  sample::ashlar::pools<ashlar::process_source> set;
  ASSERT_TRUE(set.has_memory());
  EXPECT_EQ(failures(set), 0u);
}

template <std::size_t Less, std::size_t... C>
std::size_t failures_with_one_less(std::index_sequence<C...>) {
  constexpr const auto& classes = sample::ashlar::classes;
  static ashlar::static_pool_set<
      ashlar::blocks<classes[C].block_size, classes[C].capacity - (C == Less ? 1 : 0),
                     classes[C].alignment>...,
      ashlar::spill::never>
      set;
  return failures(set);
}

TEST(TunedPools, NoCapacityCouldBeLess) {
  constexpr std::size_t count = sample::ashlar::static_pools<>::class_count;
  [&]<std::size_t... Less>(std::index_sequence<Less...>) {
    const std::size_t failed[] = {
        failures_with_one_less<Less>(std::make_index_sequence<count>{})...};
    for (std::size_t c = 0; c < count; ++c) EXPECT_GT(failed[c], 0u) << c;
  }(std::make_index_sequence<count>{});
}

}  // namespace
