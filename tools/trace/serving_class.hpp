// tools/trace/serving_class.hpp: which of several classes serves a request. Layer: trace.
//
// The rule is that of a pool set: the smallest class whose blocks are large and aligned enough.
// replay, report and tune ask here. verify has the rule once more, on purpose: it shares no code with
// what it checks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ashlar::trace {

/// Returns: the index of the class; classes.size() where none serves the request.
/// Requires: the classes have a `block_size` and an `alignment`; block sizes do not fall, and of
/// equal ones alignments do not.
/// Complexity: O(log classes), and one step for each class that is large but not aligned enough.
template <class Class>
[[nodiscard]] std::size_t serving_class(std::span<const Class> classes, std::uint64_t size,
                                        std::uint64_t alignment) {
  auto at = std::ranges::lower_bound(classes, size, {}, &Class::block_size);
  while (at != classes.end() && at->alignment < alignment) ++at;
  return static_cast<std::size_t>(at - classes.begin());
}

}  // namespace ashlar::trace
