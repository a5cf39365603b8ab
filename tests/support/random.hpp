// support/random.hpp: a small generator whose sequence is the same with every library and compiler.
#pragma once

#include <cstddef>
#include <cstdint>

namespace support {

/// A Weyl sequence through a bijective mixer (the constants are those of SplitMix64, Steele, Lea
/// and Flood, "Fast splittable pseudorandom number generators", 2014).
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// A number below `bound`, which must not be 0. The bias is far below what a test could see.
  std::size_t below(std::size_t bound) noexcept { return static_cast<std::size_t>(next() % bound); }
  /// True in `percent` of 100 calls.
  bool chance(unsigned percent) noexcept { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace support
