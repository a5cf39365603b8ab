// The arithmetic of geometry.hpp is the pools' own: compared with sizeof of real sets, when this is compiled.
#include "tools/tune/sizing.hpp"

#include <vector>

#include <gtest/gtest.h>

#include <ashlar/pool/pool_set.hpp>

namespace ashlar::tune {
namespace {

template <std::size_t Size, std::size_t Count, std::size_t Alignment>
constexpr bool one_class_agrees =
    sizeof(static_pool_set<blocks<Size, Count, Alignment>, spill::never>) ==
    class_bytes({Size, Alignment}, Count);

template <std::size_t Size, std::size_t Alignment>
constexpr bool counts_agree =
    one_class_agrees<Size, 1, Alignment> && one_class_agrees<Size, 2, Alignment> &&
    one_class_agrees<Size, 15, Alignment> && one_class_agrees<Size, 253, Alignment> &&
    one_class_agrees<Size, 254, Alignment> && one_class_agrees<Size, 1000, Alignment> &&
    one_class_agrees<Size, 65'533, Alignment> && one_class_agrees<Size, 65'534, Alignment>;

static_assert(counts_agree<1, 1>);
static_assert(counts_agree<8, 8>);
static_assert(counts_agree<24, 8>);
static_assert(counts_agree<16, 16>);
static_assert(counts_agree<400, 16>);
static_assert(counts_agree<64, 64>);
static_assert(counts_agree<4096, 4096>);
static_assert(counts_agree<5008, 4096>);

template <std::size_t Size, std::size_t Count, std::size_t Alignment>
size_class as_class(blocks<Size, Count, Alignment>) {
  return {Size, class_alignment(Alignment), Count, Count, class_bytes({Size, Alignment}, Count)};
}

template <class... Blocks>
void expect_set_agrees() {
  const std::vector<size_class> classes{as_class(Blocks{})...};
  EXPECT_EQ(set_bytes(classes), sizeof(static_pool_set<Blocks..., spill::never>));
  EXPECT_EQ(set_bytes(classes), sizeof(static_pool_set<Blocks..., spill::take_larger>));
}

TEST(Geometry, ASetIsItsClassesTogether) {
  expect_set_agrees<blocks<16, 3>, blocks<48, 300>, blocks<1024, 7>>();
  expect_set_agrees<blocks<16, 3, 16>, blocks<64, 3, 64>, blocks<128, 70'000, 16>>();
  expect_set_agrees<blocks<8, 5, 8>, blocks<4096, 2, 4096>, blocks<5000, 1, 8>,
                    blocks<8192, 3, 16>>();
  expect_set_agrees<blocks<64, 1, 64>, blocks<72, 1, 8>, blocks<256, 9, 256>>();
}

TEST(Geometry, WhatIsTooLargeSaysSo) {
  EXPECT_EQ(class_bytes({std::size_t{1} << 36, 16}, std::uint64_t{1} << 31), too_many_bytes);
  EXPECT_EQ(class_bytes({16, 16}, std::uint64_t{1} << 60), too_many_bytes);
}

}  // namespace
}  // namespace ashlar::tune
