#include <cstddef>
#include <string_view>

#include <gtest/gtest.h>

#include <ashlar/pool/pool_map.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

struct message {
  char text[40];
};
constinit ashlar::static_pool<message, 64> messages;
constinit ashlar::static_pool_set<ashlar::blocks<16, 10>, ashlar::blocks<396, 3>> sizes;
constinit char a_name_longer_than_a_row_has_room_for[10];
ASHLAR_POOL_MAP(messages);
ASHLAR_POOL_MAP(sizes);
ASHLAR_POOL_MAP(a_name_longer_than_a_row_has_room_for);

static_assert(ashlar::ram_bytes<messages, sizes> == sizeof messages + sizeof sizes);
static_assert(ashlar::ram_bytes<> == 0);

TEST(PoolMap, APoolIsARow) {
  const auto& row = pool_map_of_messages.rows[0];
  static_assert(sizeof pool_map_of_messages == sizeof row);
  EXPECT_EQ(row.name, std::string_view("messages"));
  EXPECT_EQ(row.address, &messages);
  EXPECT_EQ(row.bytes, sizeof messages);
  EXPECT_EQ(row.block_size, 40u);
  EXPECT_EQ(row.stride, 40u);
  EXPECT_EQ(row.capacity, 64u);
}

TEST(PoolMap, ASetIsARowForEachSizeAndItsBytesAreInTheFirst) {
  const auto& rows = pool_map_of_sizes.rows;
  EXPECT_EQ(rows[0].bytes, sizeof sizes);
  EXPECT_EQ(rows[1].bytes, 0u);
  EXPECT_EQ(rows[1].name, std::string_view("sizes"));
  EXPECT_EQ(rows[1].block_size, 396u);
  EXPECT_EQ(rows[1].stride, 400u);
  EXPECT_EQ(rows[1].capacity, 3u);
  EXPECT_EQ(rows[1].address, rows[0].address);
}

TEST(PoolMap, WhatHasNoBlocksIsBytesAndALongNameIsCut) {
  const auto& row = pool_map_of_a_name_longer_than_a_row_has_room_for.rows[0];
  EXPECT_EQ(row.bytes, 10u);
  EXPECT_EQ(row.capacity, 0u);
  EXPECT_EQ(row.name, std::string_view("a_name_longer_than_a_row_has_ro"));
}

}  // namespace
