// Records of blocks against a map: what is in, what was taken out, and that the table follows.
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/check/block_records.hpp>

namespace {

using ashlar::detail::block_record;
using ashlar::detail::block_records;

/// Never looked at: a record only compares addresses.
std::byte* address_of(std::size_t i) {
  return reinterpret_cast<std::byte*>(std::uintptr_t{0x10000} + i * 16);
}

TEST(BlockRecords, ARandomProgramAgreesWithAMap) {
  block_records records;
  std::map<std::byte*, block_record*> model;
  std::vector<block_record*> out;  // taken out, not yet put by
  std::mt19937_64 random(5);
  // More than twice the buckets that a table starts with, so that it doubles while chains are full.
  for (int i = 0; i < 60'000; ++i) {
    std::byte* const address = address_of(random() % 16'384);
    const auto found = model.find(address);
    ASSERT_EQ(records.find(address), found == model.end() ? nullptr : found->second);
    if (found == model.end()) {
      block_record* const r = records.add(address);
      ASSERT_NE(r, nullptr);
      ASSERT_EQ(r->address, address);
      ASSERT_EQ(r->freed.call, nullptr) << "a used record comes as new";
      r->freed.call = "free";
      model.emplace(address, r);
    } else if (random() % 3 == 0) {
      records.take_out(found->second);
      out.push_back(found->second);
      model.erase(found);
    }
    if (out.size() == 100) {
      for (block_record* r : out) records.put_by(r);
      out.clear();
    }
    ASSERT_EQ(records.count(), model.size());
  }
  std::size_t visited = 0;
  records.for_each([&](const block_record& r) {
    ++visited;
    EXPECT_EQ(model.at(r.address), &r);
  });
  EXPECT_EQ(visited, model.size());
  EXPECT_GE(records.memory_bytes(), model.size() * sizeof(block_record));
  EXPECT_GT(model.size(), 8192u) << "the program was too short to see the table double";
}

}  // namespace
