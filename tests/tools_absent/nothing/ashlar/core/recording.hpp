// nothing/ashlar/core/recording.hpp: what ashlar/core/recording.hpp is without any recorder: nothing at all.
// Found first on the include path by tests/tools_absent. Macros, so that not even an argument is evaluated.
#pragma once

#include <ashlar/core/policy.hpp>

namespace ashlar {
struct recorded_pool {
  const void* id;
  const char* name;
};
namespace recording {
struct none {
  using policy_kind = recording_kind;
};
}  // namespace recording
namespace detail {
inline constexpr bool recorded = true;
}
}  // namespace ashlar

#define record_taken(...) recorded
#define record_given(...) recorded
