#include "tools/tune/pool_check.hpp"

#include <nlohmann/json.hpp>
#include <random>

#include <gtest/gtest.h>

#include "tools/tune/certificate.hpp"
#include "tools/tune/test_workloads.hpp"

namespace ashlar::tune {
namespace {

certified_tuning tuned(const workload& load, bool borrow) {
  certified_tuning result;
  result.borrow = borrow;
  result.read_as.least_alignment = 8;
  tuning_request request;
  request.classes = 4;
  request.borrow = borrow;
  result.made = tune_static(load, request);
  return result;
}

TEST(PoolCheck, ReadsWhatTheTunerWrites) {
  std::mt19937 random(1);
  const workload load =
      random_workload(random, 30, 800, 2, workload_builder::keep::needs_and_slots);
  for (const bool borrow : {false, true}) {
    const certified_tuning result = tuned(load, borrow);
    const pool_configuration pools = read_configuration(certificate(result));
    EXPECT_EQ(pools.classes, result.made.classes);
    EXPECT_EQ(pools.borrow, borrow);
    EXPECT_EQ(pools.read_as.least_alignment, 8u);
    EXPECT_TRUE(use_of(pools, load, 100).serves);
    EXPECT_FALSE(use_of(pools, load, 50).serves);
  }
}

TEST(PoolCheck, OneBlockMoreIsTooMuch) {
  std::mt19937 random(2);
  workload load = random_workload(random, 30, 800, 1);
  pool_configuration pools = read_configuration(certificate(tuned(load, false)));
  const pool_use before = use_of(pools, load, 100);
  ASSERT_TRUE(before.serves);
  for (std::size_t c = 0; c < pools.classes.size(); ++c) {
    EXPECT_EQ(before.classes[c].peak, pools.classes[c].peak);
    pool_configuration less = pools;
    --less.classes[c].capacity;
    const pool_use use = use_of(less, load, 100);
    EXPECT_FALSE(use.serves);
    EXPECT_TRUE(use.classes[c].passes(100));
  }
}

TEST(PoolCheck, ARequestThatNoClassServesIsNamed) {
  std::mt19937 random(3);
  workload load = random_workload(random, 30, 800, 1);
  const pool_configuration pools = read_configuration(certificate(tuned(load, false)));
  load.needs.back().size += 8;
  const pool_use use = use_of(pools, load, 1000);
  EXPECT_FALSE(use.serves);
  ASSERT_TRUE(use.unserved);
  EXPECT_EQ(use.unserved->size, load.needs.back().size);
}

TEST(PoolCheck, WhatIsNoConfigurationIsRefused) {
  std::mt19937 random(4);
  const workload load = random_workload(random, 30, 300, 1);
  const auto good = nlohmann::json::parse(certificate(tuned(load, false)));
  for (const char* text : {"", "{", "[]", "{}", "0"})
    EXPECT_THROW((void)read_configuration(text), no_configuration) << text;
  for (const std::string name :
       {"certificate", "mode", "alignment", "largest", "spill", "classes"}) {
    auto without = good;
    without.erase(name);
    EXPECT_THROW((void)read_configuration(without.dump()), no_configuration) << name;
    for (const nlohmann::json& wrong :
         {nlohmann::json(-1), nlohmann::json(1e40), nlohmann::json()}) {
      auto changed = good;
      changed[name] = wrong;
      EXPECT_THROW((void)read_configuration(changed.dump()), no_configuration) << name << wrong;
    }
  }
  auto empty = good;
  empty["classes"][0]["capacity"] = 0;
  EXPECT_THROW((void)read_configuration(empty.dump()), no_configuration);
}

}  // namespace
}  // namespace ashlar::tune
