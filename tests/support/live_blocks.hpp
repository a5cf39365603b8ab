// support/live_blocks.hpp: the blocks that a test program has in use, as it must find them again.
// Law: no two blocks share a byte, and every byte that is looked at is as its owner left it.
// Threads that hand blocks over have one set each, or one set and a lock. The static functions look
// at the bytes of a block. They need no set, so a program can call them without the lock.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <tests/support/pattern.hpp>
#include <vector>

namespace support {

struct live_block {
  void* address = nullptr;
  std::size_t size = 0;    ///< what was asked for
  std::size_t usable = 0;  ///< what may be used, and carries the pattern
  std::size_t alignment = 16;
  std::uint64_t key = 0;   ///< of its pattern; no two blocks of a program have one key
  std::size_t origin = 0;  ///< the program's own: where it came from, or how it is to be given back
};

inline std::uintptr_t start_of(const live_block& b) {
  return reinterpret_cast<std::uintptr_t>(b.address);
}
/// A block of 0 bytes has an address of its own all the same.
inline std::size_t taken_bytes(const live_block& b) { return std::max<std::size_t>(b.usable, 1); }

inline std::string describe(const live_block& b) {
  char text[160];
  std::snprintf(text, sizeof text, "block %p, size %zu, usable %zu, alignment %zu, key %llu",
                b.address, b.size, b.usable, b.alignment, static_cast<unsigned long long>(b.key));
  return text;
}

/// A failure policy for programs without a test framework: it ends the process.
struct stops {
  void operator()(const std::string& what) const {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::abort();
  }
};

/// `Failure` is called with a message. If it returns, the set goes on, and the test must stop soon.
/// Blocks of up to `WholeBytes` carry the pattern in every byte. Larger ones carry it in a line of
/// each page and in their last bytes, because filling them would be most of what a test does.
template <class Failure = stops, std::size_t WholeBytes = 4096>
class live_blocks {
  static constexpr std::size_t page = 4096, line = 64;
  static_assert(WholeBytes >= line);

 public:
  /// `first_key`: sets whose blocks meet one another have keys far apart.
  explicit live_blocks(std::uint64_t first_key = 0) : last_key_(first_key) {}

  /// Effects: looks at a fresh block, fills it, and has it.
  void add(void* address, std::size_t size, std::size_t usable, std::size_t alignment,
           std::size_t origin = 0) {
    const live_block b{address, size, usable, alignment, ++last_key_, origin};
    if (!look(b)) return;
    insert(b);
    fill(b);
  }
  /// Effects: a block leaves, once its bytes are as they were left. Requires: there is one.
  live_block take(std::size_t i) {
    const live_block b = remove(i);
    verify(b);
    return b;
  }
  live_block take_last() { return take(size() - 1); }

  /// Effects: the set has `b`, which another set had or which was taken. Its bytes stay.
  void insert(const live_block& b) {
    const auto after = ends_.lower_bound(start_of(b));
    if (after != ends_.end() && start_of(b) + taken_bytes(b) > after->first)
      fail("overlaps the block behind it", b);
    if (after != ends_.begin() && std::prev(after)->second > start_of(b))
      fail("overlaps the block before it", b);
    ends_.emplace_hint(after, start_of(b), start_of(b) + taken_bytes(b));
    bytes_ += b.usable;
    blocks_.push_back(b);
  }
  /// Effects: a block leaves, and nobody looks at its bytes. Requires: there is one.
  live_block remove(std::size_t i) {
    const live_block b = blocks_[i];
    ends_.erase(start_of(b));
    bytes_ -= b.usable;
    blocks_[i] = blocks_.back();
    blocks_.pop_back();
    return b;
  }
  /// Effects: forgets all: their memory is gone.
  void clear() {
    blocks_.clear();
    ends_.clear();
    bytes_ = 0;
  }

  [[nodiscard]] bool empty() const { return blocks_.empty(); }
  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<live_block>& blocks() const { return blocks_; }
  void verify_all() const {
    for (const live_block& b : blocks_) verify(b);
  }

  /// Returns: whether a fresh block is one, is aligned and is large enough.
  static bool look(const live_block& b) {
    if (b.address == nullptr) return fail("null", b);
    if (start_of(b) % b.alignment != 0) return fail("misaligned", b);
    return b.usable >= b.size || fail("smaller than asked for", b);
  }
  static void fill(const live_block& b) {
    each_stretch(b, b.usable, [&](std::size_t from, std::size_t to) {
      fill_pattern(b.address, b.key, to, from);
    });
  }
  static void verify(const live_block& b) { verify(b, b.address, b.usable); }
  /// Requires that the block's first `bytes` bytes, now at `address`, are as they were left.
  static void verify(const live_block& b, const void* address, std::size_t bytes) {
    each_stretch(b, std::min(bytes, b.usable), [&](std::size_t from, std::size_t to) {
      const std::size_t damage = find_damage(address, b.key, to, from);
      if (damage != to) fail("byte " + std::to_string(damage) + " is not what its owner wrote", b);
    });
  }

 private:
  [[gnu::cold]] static bool fail(const std::string& what, const live_block& b) {
    Failure{}(what + ": " + describe(b));
    return false;
  }

  /// Calls visit(from, to) for the stretches of a block's first `bytes` that carry the pattern.
  template <class Visit>
  static void each_stretch(const live_block& b, std::size_t bytes, Visit visit) {
    if (b.usable <= WholeBytes) return visit(std::size_t{0}, bytes);
    const std::size_t last = (b.usable - line) / 8 * 8;
    for (std::size_t at = 0; at < std::min(last, bytes); at += page)
      visit(at, std::min({at + line, last, bytes}));
    if (last < bytes) visit(last, bytes);
  }

  std::vector<live_block> blocks_;
  std::map<std::uintptr_t, std::uintptr_t> ends_;  // start -> end of every block
  std::size_t bytes_ = 0;
  std::uint64_t last_key_;
};

}  // namespace support
