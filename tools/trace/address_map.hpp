// tools/trace/address_map.hpp: address -> slot, for the blocks that live. Layer: trace.
// Invariant: every key is reachable from its own place without an empty place between (linear probing; what is erased
// is filled from behind, so there are no tombstones and a trace of any length leaves the table as full as its blocks are).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar::trace {

class address_map {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  /// Returns: the slot, or none.
  [[nodiscard]] std::uint32_t find(std::uint64_t address) const {
    for (std::size_t i = home(address); places_[i].slot != none; i = (i + 1) & mask())
      if (places_[i].address == address) return places_[i].slot;
    return none;
  }
  /// Requires: the address is not there; slot is not none.
  void insert(std::uint64_t address, std::uint32_t slot) {
    if (2 * ++used_ > places_.size()) grow();
    place_at_end(address, slot);
  }
  /// Returns: the slot it had, or none.
  std::uint32_t erase(std::uint64_t address) {
    std::size_t hole = home(address);
    while (places_[hole].slot != none && places_[hole].address != address)
      hole = (hole + 1) & mask();
    const std::uint32_t slot = places_[hole].slot;
    if (slot == none) return none;
    --used_;
    for (std::size_t i = (hole + 1) & mask(); places_[i].slot != none; i = (i + 1) & mask()) {
      // It may move to the hole unless its home lies behind the hole.
      if (((i - home(places_[i].address)) & mask()) < ((i - hole) & mask())) continue;
      places_[hole] = places_[i];
      hole = i;
    }
    places_[hole].slot = none;
    return slot;
  }
  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  struct place {
    std::uint64_t address = 0;
    std::uint32_t slot = none;
  };
  [[nodiscard]] std::size_t mask() const { return places_.size() - 1; }
  [[nodiscard]] std::size_t home(std::uint64_t address) const {
    return static_cast<std::size_t>(address * 0x9e3779b97f4a7c15u >>
                                    (65 - std::bit_width(places_.size())));
  }
  void place_at_end(std::uint64_t address, std::uint32_t slot) {
    std::size_t i = home(address);
    while (places_[i].slot != none) i = (i + 1) & mask();
    places_[i] = {address, slot};
  }
  void grow() {
    std::vector<place> old(2 * places_.size());
    old.swap(places_);
    for (const place& each : old)
      if (each.slot != none) place_at_end(each.address, each.slot);
  }

  std::vector<place> places_ = std::vector<place>(1024);
  std::size_t used_ = 0;
};

}  // namespace ashlar::trace
