// The program that allocators are measured with: 10,000 random calls, and the states that are worst for one or another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "instruction_counter.hpp"

namespace call_pattern {

/// Smallest, largest and sum of what was counted.
struct extent {
  std::uint32_t least = UINT32_MAX;
  std::uint32_t most = 0, sum = 0, calls = 0;

  void add(std::uint32_t instructions) noexcept {
    least = instructions < least ? instructions : least;
    most = instructions > most ? instructions : most;
    sum += instructions;
    ++calls;
  }
  [[nodiscard]] bool is_constant() const noexcept { return calls != 0 && least == most; }
  [[nodiscard]] std::uint32_t mean() const noexcept {
    return calls == 0 ? 0 : (sum + calls / 2) / calls;
  }
};

/// An allocator as the pattern sees it: allocate(memory, size, unused), deallocate(memory, block, size).
struct allocator {
  instruction_counter::function<void*> allocate;
  instruction_counter::function<void> deallocate;
  void* memory;
  bool is_bounded;  ///< has as many blocks as the pattern takes, so that the next is refused
};

struct figures {
  extent first_use;   ///< allocations before any block came back
  extent allocation;  ///< allocations that get a block which was in use before
  extent refusal;     ///< allocations that get null
  extent free;
  bool is_right = true;  ///< every block was got once, and what was written into it stayed
};

inline constexpr std::size_t most_blocks = 256;
inline constexpr int random_calls = 10'000;

/// The same numbers each time (Marsaglia's xorshift).
class random_numbers {
 public:
  [[nodiscard]] std::uint32_t below(std::uint32_t n) noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return static_cast<std::uint32_t>((std::uint64_t{state_} * n) >> 32);
  }

 private:
  std::uint32_t state_ = 0x9E3779B9;
};

/// One pattern over one allocator. `size_of(random)` is the size of each request.
template <class SizeOf>
class run {
 public:
  run(const allocator& of, std::size_t blocks, SizeOf size_of) noexcept
      : of_(of), blocks_(blocks), size_of_(size_of) {}

  [[nodiscard]] figures all() noexcept {
    fill(figures_.first_use);
    if (of_.is_bounded) expect_refusal();
    empty();
    fill(figures_.allocation);  // each block was in use once, from here on
    if (of_.is_bounded) expect_refusal();
    alternate(100);  // one block free, or none
    empty();
    alternate(100);  // all blocks free, or all but one
    for (int call = 0; call < random_calls && figures_.is_right; ++call) {
      if (held_ == 0 || (held_ < blocks_ && random_.below(2) == 0)) {
        take(figures_.allocation);
      } else {
        give(random_.below(static_cast<std::uint32_t>(held_)));
      }
    }
    empty();
    return figures_;
  }

 private:
  struct holding {
    void* block;
    std::size_t size;
  };

  void fill(extent& into) noexcept {
    while (held_ < blocks_ && figures_.is_right) take(into);
  }
  void empty() noexcept {
    while (held_ != 0) give(random_.below(static_cast<std::uint32_t>(held_)));
  }
  void alternate(int times) noexcept {
    for (int i = 0; i < times && figures_.is_right; ++i) {
      if (held_ == blocks_) give(random_.below(static_cast<std::uint32_t>(held_)));
      take(figures_.allocation);
      give(held_ - 1);
    }
  }

  [[nodiscard]] instruction_counter::measured ask(std::size_t size) noexcept {
    return instruction_counter::count(of_.allocate, of_.memory, reinterpret_cast<void*>(size),
                                      nullptr);
  }
  /// Requires: held_ < blocks_.
  void take(extent& into) noexcept {
    const std::size_t size = size_of_(random_);
    const auto [block, instructions] = ask(size);
    if (block == nullptr) {
      figures_.is_right = false;
      return;
    }
    into.add(instructions);
    *static_cast<std::uintptr_t*>(block) = reinterpret_cast<std::uintptr_t>(block);
    holdings_[held_++] = {block, size};
  }
  void expect_refusal() noexcept {
    for (int i = 0; i < 10; ++i) {
      const auto [block, instructions] = ask(size_of_(random_));
      figures_.refusal.add(instructions);
      if (block != nullptr) figures_.is_right = false;
    }
  }
  void give(std::size_t i) noexcept {
    const holding h = holdings_[i];
    if (*static_cast<const std::uintptr_t*>(h.block) != reinterpret_cast<std::uintptr_t>(h.block))
      figures_.is_right = false;
    figures_.free.add(instruction_counter::count(of_.deallocate, of_.memory, h.block,
                                                 reinterpret_cast<void*>(h.size))
                          .instructions);
    holdings_[i] = holdings_[--held_];
  }

  allocator of_;
  std::size_t blocks_;
  SizeOf size_of_;
  figures figures_;
  random_numbers random_;
  std::size_t held_ = 0;
  holding holdings_[most_blocks];
};

}  // namespace call_pattern
