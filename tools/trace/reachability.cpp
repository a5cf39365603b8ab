// tools/trace/reachability.cpp. Layer: trace.
#include "tools/trace/reachability.hpp"

#include <algorithm>

#include "tools/trace/lifetimes.hpp"

namespace ashlar::trace {
namespace {

constexpr std::uint64_t word = sizeof(std::uint64_t);
/// A freed block from this size on may have gone back to the system, and something else be there.
constexpr std::uint64_t small_max = 128u << 10;
constexpr std::uint64_t steps_a_sign = 1u << 20;

constexpr std::uint64_t round_up(std::uint64_t n) { return (n + word - 1) / word * word; }
/// A block of 0 bytes has an address, too.
constexpr std::uint64_t end_of(const held_block& b) {
  return b.address + std::max<std::uint64_t>(b.size, 1);
}

class search {
 public:
  search(const block_map& blocks, program_memory& memory, const sign_of_life& sign)
      : blocks_(blocks), memory_(memory), sign_(sign), reached_(blocks.live.size()) {
    addresses_.reserve(blocks.live.size());
    for (const held_block& b : blocks.live) addresses_.push_back(b.address);
  }

  void run() {
    if (blocks_.live.empty()) return;
    const std::vector<address_range> places = memory_.places_of_pointers();
    c_library_ = memory_.data_of_c_library();
    for (const address_range& place : places) look_at_roots(place);
    while (!to_look_at_.empty()) {
      const held_block& next = blocks_.live[to_look_at_.back()];
      to_look_at_.pop_back();
      look_into({round_up(next.address), (next.address + next.size) / word * word});
    }
  }
  [[nodiscard]] bool has_reached(std::size_t i) const { return reached_[i]; }

 private:
  static constexpr std::size_t words_each = 32u << 10;
  static constexpr std::uint64_t window_bytes = 64u << 10;
  static constexpr std::size_t windows_a_sign = 4096;
  static constexpr std::size_t blocks_a_sign = 1u << 18;

  /// Effects: visit(address, value) for each word there that can be read.
  template <class Visit>
  void each_word(address_range place, Visit visit) {
    for (std::uint64_t at = place.begin; at < place.end;) {
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>((place.end - at) / word, words_each));
      const std::size_t got = memory_.read(at, std::span(buffer_).first(count));
      for (std::size_t i = 0; i < got; ++i) visit(at + i * word, buffer_[i]);
      if (got < count) return;
      at += count * word;
      words_since_ += count;
      if (words_since_ < steps_a_sign) continue;
      words_since_ = 0;
      sign_();
    }
  }

  /// Effects: follows what lies there in no block.
  void look_at_roots(address_range place) {
    auto next = std::ranges::upper_bound(addresses_, place.begin);
    if (next != addresses_.begin()) --next;
    auto i = static_cast<std::size_t>(next - addresses_.begin());
    each_word(place, [&](std::uint64_t at, std::uint64_t value) {
      while (i < addresses_.size() && blocks_.live[i].address + blocks_.live[i].size < at + word)
        ++i;
      const bool is_in_block = i < addresses_.size() && addresses_[i] <= at;
      if (is_in_block || blocks_.freed.has(at)) return;
      if (at - c_library_.begin < c_library_.end - c_library_.begin && is_behind_block(value))
        return;
      follow(value);
    });
  }

  /// Effects: follows the words of a block.
  void look_into(address_range block) {
    if (block.begin >= block.end) return;
    const std::span<const std::uint64_t> words = memory_.in_place(block.begin);
    if (const auto count = static_cast<std::size_t>((block.end - block.begin) / word);
        words.size() >= count) {
      for (const std::uint64_t value : words.first(count)) follow(value);
      if (++blocks_looked_at_ % blocks_a_sign == 0) sign_();
      return;
    }
    // Blocks that point to each other are often neighbours: one read serves many.
    const std::uint64_t window = block.begin / window_bytes * window_bytes;
    if (window != window_begin_) {
      window_begin_ = window;
      window_.resize(window_bytes / word);
      window_.resize(memory_.read(window, window_));
      if (++windows_ % windows_a_sign == 0) sign_();
    }
    if (block.end > window + window_.size() * word)
      return each_word(block, [this](std::uint64_t, std::uint64_t value) { follow(value); });
    for (std::uint64_t at = block.begin; at < block.end; at += word)
      follow(window_[static_cast<std::size_t>((at - window) / word)]);
  }

  /// Returns: the number of the block that `value` points into; as many as there are: into none.
  [[nodiscard]] std::size_t block_at(std::uint64_t value) const {
    const std::size_t none = addresses_.size();
    if (value < addresses_.front() || value >= end_of(blocks_.live.back())) return none;
    const auto above = std::ranges::upper_bound(addresses_, value);
    const auto i = static_cast<std::size_t>(above - addresses_.begin()) - 1;
    return value < end_of(blocks_.live[i]) ? i : none;
  }
  /// Effects: the block that `value` points into, if there is one, is reached.
  void follow(std::uint64_t value) {
    const std::size_t i = block_at(value);
    if (i == reached_.size() || reached_[i]) return;
    reached_[i] = true;
    to_look_at_.push_back(i);
  }
  /// Returns: whether the C library's malloc has what lies behind a block from `value` on, which is in
  /// the block's last word: its block and 8 bytes are a multiple of 16, and 32 at least.
  [[nodiscard]] bool is_behind_block(std::uint64_t value) const {
    const std::size_t i = block_at(value);
    if (i == addresses_.size()) return false;
    const held_block& b = blocks_.live[i];
    return value - b.address == std::max<std::uint64_t>((b.size + 23) / 16 * 16, 32) - 16;
  }

  const block_map& blocks_;
  program_memory& memory_;
  const sign_of_life& sign_;
  address_range c_library_;
  std::vector<std::uint64_t> addresses_;  // of the blocks
  std::vector<bool> reached_;
  std::vector<std::size_t> to_look_at_;
  std::vector<std::uint64_t> buffer_ = std::vector<std::uint64_t>(words_each);
  std::size_t words_since_ = 0;
  std::vector<std::uint64_t> window_;  // what could be read from window_begin_ on
  std::uint64_t window_begin_ = UINT64_MAX;
  std::size_t windows_ = 0, blocks_looked_at_ = 0;
};

}  // namespace

void freed_ground::add(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t end = address + size;
  for (std::uint64_t at = address / granule * granule; at < end;) {
    auto& bits = pages_[at / page];
    const std::uint64_t page_end = (at / page + 1) * page;
    for (; at < std::min(end, page_end); at += granule) {
      const std::uint64_t number = at % page / granule;
      bits[number / 64] |= std::uint64_t{1} << number % 64;
    }
  }
}

bool freed_ground::has(std::uint64_t address) const {
  const auto found = pages_.find(address / page);
  if (found == pages_.end()) return false;
  const std::uint64_t number = address % page / granule;
  return (found->second[number / 64] >> number % 64 & 1) != 0;
}

block_map blocks_at_end(trace_reader& events, const sign_of_life& sign) {
  struct slot {
    held_block block;
    bool lives = false;
  };
  block_map map;
  std::vector<slot> slots;
  lifetimes from(events);
  std::uint64_t steps = 0;
  for (step s; from.next(s);) {
    if (++steps % steps_a_sign == 0) sign();
    if (s.happened == step::what::birth) {
      if (slots.size() <= s.slot) slots.resize(s.slot + 1);
      slots[s.slot] = {{s.address, s.size, s.stack}, true};
    } else if (s.happened == step::what::death) {
      slots[s.slot].lives = false;
      if (s.size < small_max) map.freed.add(s.address, s.size);
    }
  }
  for (const slot& each : slots)
    if (each.lives) map.live.push_back(each.block);
  std::ranges::sort(map.live, {}, &held_block::address);
  return map;
}

std::vector<held_block> find_unreachable(const block_map& blocks, program_memory& memory,
                                         const sign_of_life& sign) {
  search s(blocks, memory, sign);
  s.run();
  std::vector<held_block> rest;
  for (std::size_t i = 0; i < blocks.live.size(); ++i)
    if (!s.has_reached(i)) rest.push_back(blocks.live[i]);
  return rest;
}

}  // namespace ashlar::trace
