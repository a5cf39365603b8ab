#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adapt/test_scope.hpp>

// What is tested: it runs in an audio thread, which must not wait for memory.
class samples {
 public:
  explicit samples(std::size_t capacity) { values_.reserve(capacity); }
  void add(float value) { values_.push_back(value); }
  float peak() const {
    float most = 0;
    for (const float value : values_) most = value > most ? value : most;
    return most;
  }

 private:
  std::vector<float> values_;
};

// A failure of a scope is a failure of the test.
const auto failed_before =
    ashlar::test::on_failure([](const char* message) { ADD_FAILURE() << message; });

TEST(Samples, AddDoesNotAllocate) {
  samples s(4);
  const ashlar::test::no_allocation_scope quiet;
  for (int i = 0; i < 5; ++i) s.add(0.5F);
  EXPECT_EQ(s.peak(), 0.5F);
}

TEST(Samples, AllocateOnce) {
  const ashlar::test::count_scope scope;
  const samples s(1000);
  EXPECT_EQ(scope.now().allocations, 1u);
  EXPECT_EQ(scope.now().live_bytes, 1000 * sizeof(float));
}

TEST(Samples, DoNotLeak) {
  const ashlar::test::leak_scope leaks;
  samples s(4);
  s.add(1);
}
