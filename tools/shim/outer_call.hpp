// tools/shim/outer_call.hpp: one call of the program's. Layer: shim.
#pragma once

#include "tools/shim/log.hpp"

namespace ashlar::shim {

/// While it lives, what the next allocator calls is its own affair.
class outer_call {
 public:
  outer_call() : was_inside_(own_log.inside), recorded_(is_on() && !own_log.inside) {
    own_log.inside = true;
  }
  ~outer_call() { own_log.inside = was_inside_; }
  outer_call(const outer_call&) = delete;
  outer_call& operator=(const outer_call&) = delete;
  [[nodiscard]] bool is_recorded() const { return recorded_; }

 private:
  bool was_inside_;
  bool recorded_;
};

}  // namespace ashlar::shim
