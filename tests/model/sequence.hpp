// model/sequence.hpp: one thread's operations, each a function of the seed and its number alone.
// Law: an operation draws one number, whatever happens to it. So a refusal, which may depend on other
// threads, changes no later choice, and --until N runs the same first N operations.
#pragma once

#include <cstddef>
#include <cstdint>
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

  std::uint64_t next() noexcept {
    ++number_;
    return random_.next();
  }
  /// How many operations there were.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  support::random_source random_;
  std::uint64_t number_ = 0;
};

}  // namespace model
