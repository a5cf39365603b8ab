// model/requests.hpp: what is asked of general heaps.
#pragma once

#include <tests/model/subject.hpp>

namespace model {

/// Sizes and alignments as programs ask for them, mostly small; one in some hundred as model::random_size has them.
inline request heap_request(draw& d, const style& s) {
  request r{s.one_size};
  if (s.one_size == 0) {
    const std::size_t dice = d.below(1024);
    if (dice < 820) {
      r.size = d.below(257);
    } else if (dice < 1000) {
      r.size = d.below(2049);
    } else {
      support::random_source more = d.source();
      r.size = dice < 1020 ? more.below(32 * 1024) : random_size(more);
    }
  }
  if (d.one_in(16)) {
    support::random_source more = d.source();
    r.alignment = more.chance(98) ? std::size_t{1} << more.below(10) : random_alignment(more);
  }
  return r;
}

inline std::size_t absurd_size(draw& d) {
  return d.one_in(2) ? SIZE_MAX - d.below(8192) : std::size_t{PTRDIFF_MAX} + 1 + d.below(8192);
}

}  // namespace model
