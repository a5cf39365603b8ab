// model/requests.hpp: what is asked of general heaps, and what their statistics have to say.
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
    r.alignment = more.chance(98) ? std::size_t{1} << more.below(more.chance(80) ? 10 : 17)
                                  : random_alignment(more);
  }
  return r;
}

inline std::size_t absurd_size(draw& d) {
  return d.one_in(2) ? SIZE_MAX - d.below(8192) : std::size_t{PTRDIFF_MAX} + 1 + d.below(8192);
}

template <class Subject>
void expect_by_class(const ashlar_stats& s, const Subject& self) {
  std::map<std::size_t, std::uint64_t> by_size;
  self.each_block([&](const block& b) { ++by_size[b.usable]; });
  for (std::uint32_t c = 0; c < s.class_count; ++c) {
    const std::size_t size = s.classes[c].block_size;
    // A block of whole pages may be in no class: calloc's above 32 KiB, one aligned for more than a page.
    if (size == 0 || size % 4096 == 0 || size > 128 * 1024) continue;
    require(s.classes[c].blocks_in_use == by_size[size], [&] {
      return "the heap has " + std::to_string(s.classes[c].blocks_in_use) + " blocks of " +
             std::to_string(size) + ", the model " + std::to_string(by_size[size]);
    });
  }
}

inline void audit_lines(const ashlar_stats& s) {
  audit_class(s.large);
  for (std::uint32_t c = 0; c < s.class_count; ++c) audit_class(s.classes[c]);
}

inline void expect_in_use(const ashlar_stats& s, const totals& all) {
  std::uint64_t blocks = s.large.blocks_in_use;
  for (std::uint32_t c = 0; c < s.class_count; ++c) blocks += s.classes[c].blocks_in_use;
  require(blocks == all.blocks && s.total.bytes_in_use == all.bytes, [&] {
    return "the heap has " + std::to_string(blocks) + " blocks, " +
           std::to_string(s.total.bytes_in_use) + " bytes in use, the model " +
           std::to_string(all.blocks) + ", " + std::to_string(all.bytes);
  });
}

}  // namespace model
