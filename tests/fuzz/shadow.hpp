// fuzz/shadow.hpp: the blocks that a program holds, as it must find them again.
// Law: no two blocks share a byte, and every byte that is looked at is as its owner left it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <tests/fuzz/input.hpp>
#include <tests/support/pattern.hpp>
#include <tests/support/require.hpp>
#include <utility>
#include <vector>

namespace fuzz {

struct block {
  std::byte* address = nullptr;
  std::size_t size = 0;    ///< what was asked for
  std::size_t usable = 0;  ///< what may be used, and carries the pattern
  std::size_t alignment = 1;
  std::size_t origin = 0;  ///< the harness's own: who gave it, or how it is to be given back
  std::uint64_t key = 0;
};

class shadow {
 public:
  /// Effects: looks at a fresh block and fills it.
  void add(void* address, std::size_t size, std::size_t usable, std::size_t alignment,
           std::size_t origin = 0) {
    block b{static_cast<std::byte*>(address), size, usable, alignment, origin, ++last_key_};
    REQUIRE(b.address != nullptr);
    REQUIRE(b.usable >= b.size);
    REQUIRE(start(b) % b.alignment == 0);
    const auto after = ends_.lower_bound(start(b));
    REQUIRE(after == ends_.end() || start(b) + extent(b) <= after->first);
    REQUIRE(after == ends_.begin() || std::prev(after)->second <= start(b));
    ends_.emplace_hint(after, start(b), start(b) + extent(b));
    each_window(b, b.usable, [](std::byte* at, std::uint64_t key, std::size_t bytes) {
      support::fill_pattern(at, key, bytes);
    });
    bytes_ += b.usable;
    blocks_.push_back(b);
  }

  /// Effects: any block leaves, once its bytes are as they were left. Requires: there is one.
  block take(input& in) { return take_at(in.below(blocks_.size())); }
  block take_last() { return take_at(blocks_.size() - 1); }

  /// Effects: `b` is ours again, unchanged. Requires: it was taken and is still its owner's.
  void put_back(const block& b) {
    ends_.emplace(start(b), start(b) + extent(b));
    bytes_ += b.usable;
    blocks_.push_back(b);
  }

  /// Requires that the block's first `bytes` bytes, now at `address`, are as they were left.
  static void verify(const block& b, void* address, std::size_t bytes) {
    block moved = b;
    moved.address = static_cast<std::byte*>(address);
    each_window(moved, std::min(bytes, b.usable),
                [](std::byte* at, std::uint64_t key, std::size_t n) {
                  REQUIRE(support::find_damage(at, key, n) == n);
                });
  }
  void verify_all() const {
    for (const block& b : blocks_) verify(b, b.address, b.usable);
  }

  [[nodiscard]] bool empty() const { return blocks_.empty(); }
  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<block>& blocks() const { return blocks_; }
  /// Effects: forgets all: their memory is gone.
  void clear() {
    blocks_.clear();
    ends_.clear();
    bytes_ = 0;
  }

 private:
  static std::uintptr_t start(const block& b) {
    return reinterpret_cast<std::uintptr_t>(b.address);
  }
  /// A block of 0 bytes has an address of its own all the same.
  static std::size_t extent(const block& b) { return std::max<std::size_t>(b.usable, 1); }

  block take_at(std::size_t i) {
    const block b = blocks_[i];
    verify(b, b.address, b.usable);
    ends_.erase(start(b));
    bytes_ -= b.usable;
    blocks_[i] = blocks_.back();
    blocks_.pop_back();
    return b;
  }

  /// Calls visit(address, key, bytes) for what is written and looked at of a block's first `bytes`: all of a
  /// small one, a line in each page of a large one, since filling it would be all that a run does.
  template <class Visit>
  static void each_window(const block& b, std::size_t bytes, Visit visit) {
    constexpr std::size_t window = 64;
    const std::size_t step = b.usable <= 4096 ? window : 4096;
    for (std::size_t at = 0; at < bytes; at += step)
      visit(b.address + at, b.key + at, std::min(window, bytes - at));
  }

  std::vector<block> blocks_;
  std::map<std::uintptr_t, std::uintptr_t> ends_;  // start -> end of every block
  std::size_t bytes_ = 0;
  std::uint64_t last_key_ = 0;
};

}  // namespace fuzz
