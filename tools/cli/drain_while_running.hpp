// tools/cli/drain_while_running.hpp: takes what programs record while they run. Layer: cli.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>

#include "tools/trace/recorder.hpp"

namespace ashlar::cli {

// What cannot be written does not disturb the program: it is said when that has ended.
class drain_while_running {
 public:
  explicit drain_while_running(trace::recorder& recorder) : recorder_(recorder) {}

  // Returns: after how long the next time is due.
  std::chrono::nanoseconds operator()() {
    using std::chrono::milliseconds;
    if (failure_ != nullptr) return milliseconds(1000);
    try {
      // As long as there is something, it is looked at once more soon; a program at rest is not
      // woken for.
      pause_ = recorder_.drain() != 0 ? milliseconds(1) : std::min(2 * pause_, milliseconds(20));
    } catch (...) {
      failure_ = std::current_exception();
      recorder_.stop();
    }
    return pause_;
  }
  [[nodiscard]] bool has_failed() const { return failure_ != nullptr; }
  // Throws: what made writing fail.
  void finish() {
    if (failure_ == nullptr) return recorder_.finish();
    std::rethrow_exception(failure_);
  }

 private:
  trace::recorder& recorder_;
  std::chrono::milliseconds pause_{1};
  std::exception_ptr failure_;
};

}  // namespace ashlar::cli
