// interleave/history.hpp: what the threads of one execution called and got, and whether one caller after the other could
// have got the same (linearisability: Herlihy and Wing, 1990).
#pragma once

#include <algorithm>
#include <cstddef>
#include <tests/interleave/scheduler.hpp>
#include <vector>

namespace interleave {

struct call {
  int what = 0;   ///< the specification's own: which function
  int value = 0;  ///< the argument or the result
  unsigned began = 0, ended = 0;
};

/// A specification is a copyable model with bool apply(const call&): do it if it may happen now.
class history {
 public:
  /// Effects: notes a call around do_it(), which returns its value. The beginning and the end are accesses: what ended
  /// before something else began is one more thing that an order can tell.
  template <class DoIt>
  int note(int what, DoIt do_it) {
    before(this, access::read);
    const unsigned began = ++time_;
    const int value = do_it();
    before(this, access::write);
    calls_.push_back({what, value, began, ++time_});
    return value;
  }

  /// Returns: whether the calls can be put in an order that keeps what ended before what began, and that the
  /// specification allows. Complexity: exponential; for some ten calls.
  template <class Specification>
  [[nodiscard]] bool is_linearisable(const Specification& initial) const {
    return rest_fits(calls_, initial);
  }

 private:
  template <class Specification>
  static bool rest_fits(const std::vector<call>& calls, const Specification& now) {
    if (calls.empty()) return true;
    unsigned first_end = ~0U;
    for (const call& c : calls) first_end = std::min(first_end, c.ended);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].began > first_end) continue;  // another had ended before it began
      Specification next = now;
      if (!next.apply(calls[i])) continue;
      std::vector<call> rest = calls;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      if (rest_fits(rest, next)) return true;
    }
    return false;
  }

  std::vector<call> calls_;
  unsigned time_ = 0;
};

}  // namespace interleave
