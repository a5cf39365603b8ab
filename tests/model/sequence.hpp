// model/sequence.hpp: one thread's operations, each a function of the seed and its number alone.
// Law: an operation draws one number, whatever happens to it. So a refusal, which may depend on other
// threads, changes no later choice, and --until N runs the same first N operations.
// A fuzzer's input has the numbers themselves, eight bytes each.
#pragma once

#include <cstring>
#include <span>
#include <tests/support/random.hpp>

namespace model {

/// The choices of one operation, all from one number, which is used up from its high bits.
class draw {
 public:
  explicit draw(std::uint64_t number) noexcept : rest_(number) {}

  /// A number below `bound`, which must not be 0 and has 32 bits: the product's upper 64 bits.
  std::size_t below(std::uint64_t bound) noexcept {
    const std::uint64_t high = (rest_ >> 32) * bound + ((rest_ & 0xffff'ffff) * bound >> 32);
    rest_ *= bound;
    return static_cast<std::size_t>(high >> 32);
  }
  bool one_in(std::size_t n) noexcept { return below(n) == 0; }
  /// For what needs more choices than a number has.
  [[nodiscard]] support::random_source source() const noexcept {
    return support::random_source(rest_);
  }

 private:
  std::uint64_t rest_;
};

class sequence {
 public:
  sequence(std::uint64_t seed, std::uint64_t thread) noexcept
      : random_(support::random_source(seed + (thread << 32)).next()) {}

  /// Requires: `input` outlives it.
  explicit sequence(std::span<const std::uint8_t> input) noexcept
      : random_(0), input_(input), is_input_(true) {}

  std::uint64_t next() noexcept {
    ++number_;
    if (!is_input_) [[likely]]
      return random_.next();
    std::uint64_t next = 0;  // what is missing at the end is 0
    const std::size_t count = input_.size() < sizeof next ? input_.size() : sizeof next;
    if (count != 0) std::memcpy(&next, input_.data(), count);
    input_ = input_.subspan(count);
    return next;
  }
  /// How many numbers the input has left.
  [[nodiscard]] std::size_t left() const noexcept { return (input_.size() + 7) / 8; }
  /// How many operations there were.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  support::random_source random_;
  std::span<const std::uint8_t> input_;
  bool is_input_ = false;
  std::uint64_t number_ = 0;
};

}  // namespace model
