// fuzz/stop_at_failure.hpp: in a harness, a failed GoogleTest expectation ends the process.
// So that what tests use (test_space, the arena model) can be driven by a fuzzer as it is.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

namespace fuzz {

class stop_at_failure : public testing::EmptyTestEventListener {
 public:
  /// Effects: from now on; once is enough.
  static void begin() {
    [[maybe_unused]] static const bool once = [] {
      testing::UnitTest::GetInstance()->listeners().Append(new stop_at_failure);
      return true;
    }();
  }

 private:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "%s:%d: %s\n", result.file_name(), result.line_number(), result.message());
    std::abort();
  }
};

}  // namespace fuzz
