// model/ledger.hpp: the blocks that one thread holds of one component, as it must find them again.
// Law: a block's pattern is a function of its key, and no two blocks have one key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tests/model/model.hpp>
#include <vector>

namespace model {

inline std::byte* bytes_of(const block& b) {
  return static_cast<std::byte*>(b.address);
}

using support::taken_bytes;

/// Where a block carries its pattern: in lines of 64 bytes, each with a key of its own. All of most blocks; of one
/// that is large sixteen lines and its last bytes, or filling it would be all that a run does.
class lines {
 public:
  explicit lines(const block& b) : usable_(b.usable), key_(b.key) {
    const bool whole = usable_ <= 2048 || (usable_ <= 128 * 1024 && key_ % 32 == 0);
    if (whole) {
      count_ = (usable_ + line - 1) / line;
    } else {
      step_ = usable_ / 16 / line * line;
      count_ = (usable_ - 2 * line) / step_ + 2;
    }
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t offset(std::size_t i) const {
    return step_ != line && i + 1 == count_ ? usable_ - line : i * step_;
  }
  [[nodiscard]] std::size_t bytes(std::size_t i) const {
    return std::min(line, usable_ - offset(i));
  }
  [[nodiscard]] std::uint64_t key(std::size_t i) const { return key_ + i; }

 private:
  static constexpr std::size_t line = 64;
  std::size_t usable_;
  std::uint64_t key_;
  std::size_t step_ = line;
  std::size_t count_ = 0;
};

inline void fill(const block& b) {
  const lines all(b);
  for (std::size_t i = 0; i < all.count(); ++i)
    support::fill_pattern(bytes_of(b) + all.offset(i), all.key(i), all.bytes(i));
}

/// Requires that line `i` of the block's first `kept` bytes, now at `where`, is as its owner left it.
inline void verify_line(const block& b, const lines& all, std::size_t i, const void* where,
                        std::size_t kept) {
  const std::size_t at = all.offset(i);
  if (at >= kept) return;
  const std::size_t bytes = std::min(all.bytes(i), kept - at);
  const std::size_t damage =
      support::find_damage(static_cast<const std::byte*>(where) + at, all.key(i), bytes);
  require(damage == bytes, [&] {
    return "byte " + std::to_string(at + damage) + " is not what its owner wrote: " + describe(b);
  });
}
inline void verify(const block& b, const void* where, std::size_t kept) {
  const lines all(b);
  for (std::size_t i = 0; i < all.count(); ++i) verify_line(b, all, i, where, kept);
}
inline void verify(const block& b) {
  verify(b, b.address, b.usable);
}
/// The same for one of its lines.
inline void verify_stripe(const block& b, std::size_t which) {
  const lines all(b);
  if (all.count() != 0) verify_line(b, all, which % all.count(), b.address, b.usable);
}

/// What a component's statistics have to say.
struct totals {
  std::uint64_t blocks = 0, bytes = 0;       ///< in use
  std::uint64_t allocations = 0, frees = 0;  ///< ever

  totals& operator+=(const totals& other) {
    blocks += other.blocks;
    bytes += other.bytes;
    allocations += other.allocations;
    frees += other.frees;
    return *this;
  }
};

class ledger {
 public:
  explicit ledger(std::size_t slots) : slots_(slots) {}

  [[nodiscard]] std::size_t size() const { return slots_.size(); }
  [[nodiscard]] block& operator[](std::size_t i) { return slots_[i]; }
  [[nodiscard]] const std::vector<block>& slots() const { return slots_; }
  [[nodiscard]] const totals& counts() const { return counts_; }

  /// Effects: `slot` holds a fresh block, which is looked at and filled.
  void add(block& slot, const block& b) {
    require(b.usable >= b.size, [&b] { return "smaller than asked for: " + describe(b); });
    require(reinterpret_cast<std::uintptr_t>(b.address) % b.alignment == 0,
            [&b] { return "misaligned: " + describe(b); });
    fill(b);
    slot = b;
    ++counts_.blocks;
    ++counts_.allocations;
    counts_.bytes += b.usable;
  }
  /// Effects: `slot` is empty. Returns: what it held.
  block take(block& slot) {
    const block b = slot;
    slot = {};
    --counts_.blocks;
    ++counts_.frees;
    counts_.bytes -= b.usable;
    return b;
  }
  /// Effects: all is forgotten: a component that frees what is in use has ended.
  void clear() {
    std::fill(slots_.begin(), slots_.end(), block{});
    counts_ = {};
  }
  void verify_all() const {
    for (const block& b : slots_)
      if (b.address != nullptr) verify(b);
  }

 private:
  std::vector<block> slots_;
  totals counts_;
};

}  // namespace model
