// model/model.hpp: random requests of the process heap, and the equations that the statistics must satisfy.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <tests/support/pattern.hpp>
#include <tests/support/random.hpp>
#include <vector>

#include <ashlar/ashlar.h>

namespace model {

/// What the heap did wrong. Programs stop at the first one: what follows a broken heap is noise.
struct broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, const std::string& what) {
  if (!holds) throw broken(what);
}
/// The same where making the message would cost more than the check.
template <std::invocable Say>
inline void require(bool holds, Say say) {
  if (!holds) [[unlikely]]
    throw broken(say());
}

/// A size as programs ask for them: mostly small, often at an edge, rarely huge.
inline std::size_t random_size(support::random_source& random) {
  const std::size_t kind = random.below(1000);
  if (kind < 500) return random.below(257);
  if (kind < 700) return random.below(4097);
  if (kind < 900) {  // a power of two from 1 to 1 MiB, and its neighbours
    const std::size_t power = std::size_t{1} << random.below(kind < 897 ? 15 : 21);
    return power - 1 + random.below(3);
  }
  if (kind < 930) return (random.chance(50) ? 32 : 128) * 1024 - 17 + random.below(35);
  if (kind < 970) return 4096 + random.below(60 * 1024);
  if (kind < 999 || random.chance(50)) return random.below(kind < 990 ? 16 * 1024 : 256 * 1024);
  return random.below(6 * 1024 * 1024);
}

/// A power of two from 1 to 2 MiB; large ones are rare.
inline std::size_t random_alignment(support::random_source& random) {
  return std::size_t{1} << (random.chance(90) ? random.below(13) : random.below(22));
}

struct block {
  void* address = nullptr;
  std::size_t size = 0;    ///< what was asked for
  std::size_t usable = 0;  ///< what may be used, and carries the pattern
  std::size_t alignment = 16;
  std::uint64_t key = 0;   ///< of its pattern; no two blocks of a program have one key
  std::size_t origin = 0;  ///< where it came from, or how it is to be given back
};

/// A block of 0 bytes has an address of its own all the same.
inline std::size_t taken_bytes(const block& b) { return std::max<std::size_t>(b.usable, 1); }

inline std::string describe(const block& b) {
  char text[160];
  std::snprintf(text, sizeof text, "block %p, size %zu, usable %zu, alignment %zu, key %llu",
                b.address, b.size, b.usable, b.alignment, static_cast<unsigned long long>(b.key));
  return text;
}

/// The equations inside one line of the statistics. They hold at any time, whoever else runs.
inline void audit_class(const ashlar_class_stats& s) {
  const std::string name = "class " + std::to_string(s.block_size) + ": ";
  require(s.allocations - s.frees == s.blocks_in_use,
          name + std::to_string(s.allocations) + " allocations - " + std::to_string(s.frees) +
              " frees != " + std::to_string(s.blocks_in_use) + " blocks in use");
  require(s.blocks_in_use <= s.peak_in_use, name + "more in use than at the peak");
  require(s.block_size == 0 || s.blocks_in_use <= s.blocks_made, name + "more in use than made");
  require(s.block_size == 0 || s.blocks_in_use * s.block_size <= s.committed_bytes,
          name + "blocks in use exceed the committed bytes");
  require(s.block_size == 0 || s.slack_bytes <= s.blocks_in_use * s.block_size,
          name + "more slack than bytes in use");
  require(s.slabs == 0 || s.committed_bytes != 0 || s.blocks_in_use == 0,
          name + "blocks in use in slabs without memory");
}

struct figures {
  std::uint64_t blocks = 0, bytes = 0;
};

/// Takes the statistics and checks every line; `alone` also checks the lines against the totals,
/// which is only promised while no other thread allocates. Returns what is in use.
inline figures audit_stats(bool alone) {
  static thread_local ashlar_stats stats;
  ashlar_stats_get(&stats);
  require(stats.class_count > 0 && stats.class_count <= ASHLAR_MAX_CLASSES, "class_count");
  std::uint64_t allocations = stats.large.allocations, frees = stats.large.frees;
  std::uint64_t blocks = stats.large.blocks_in_use, slack = stats.large.slack_bytes;
  std::uint64_t committed = stats.large.committed_bytes, class_bytes = 0;
  require(stats.large.block_size == 0, "large blocks have no common size");
  audit_class(stats.large);
  std::uint64_t previous = 0;
  for (std::uint32_t c = 0; c < stats.class_count; ++c) {
    const ashlar_class_stats& s = stats.classes[c];
    audit_class(s);
    if (s.block_size == 0) continue;  // a class that was never used may be left empty
    require(s.block_size > previous, "class sizes do not grow");
    previous = s.block_size;
    allocations += s.allocations;
    frees += s.frees;
    blocks += s.blocks_in_use;
    slack += s.slack_bytes;
    committed += s.committed_bytes;
    class_bytes += s.blocks_in_use * s.block_size;
  }
  const ashlar_total_stats& t = stats.total;
  if (alone) {
    require(t.allocations == allocations, "total allocations are not the sum of the lines");
    require(t.frees == frees, "total frees are not the sum of the lines");
    require(t.slack_bytes == slack, "total slack is not the sum of the lines");
    require(class_bytes <= t.bytes_in_use, "total bytes in use are less than the classes' sum");
    require(stats.large.blocks_in_use != 0 || class_bytes == t.bytes_in_use,
            "no large block, but bytes in use outside the classes");
    require(stats.large.blocks_in_use == 0 || class_bytes < t.bytes_in_use,
            "large blocks without bytes");
    require(t.bytes_in_use <= t.peak_bytes_in_use, "bytes in use exceed their peak");
    require(committed <= t.committed_bytes, "total committed is less than the lines' sum");
    require(t.bytes_in_use <= t.committed_bytes, "more bytes in use than committed");
    require(t.committed_bytes <= t.peak_committed_bytes, "committed exceeds its peak");
    require(t.committed_bytes <= t.reserved_bytes, "committed exceeds reserved");
    require(t.threads >= 1, "the calling thread has no cache");
  }
  return {blocks, t.bytes_in_use};
}

}  // namespace model
