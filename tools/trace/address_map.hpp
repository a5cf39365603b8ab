// tools/trace/address_map.hpp: address -> slot, for the blocks that live. Layer: trace.
//
//   entry   | tag: the address's hash | slot |      8 bytes, at the place that the tag's first bits say, or behind it
//
// The addresses are not here but with their blocks, which whoever looks one up needs anyhow: a table of 64-bit addresses
// would be twice as large, and what such a table costs is the way to memory.
// Invariant: every entry is reachable from its own place without an empty one between (linear probing; what is erased is
// filled from behind, so there are no tombstones and a trace of any length leaves the table as full as its blocks are).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar::trace {

class address_map {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  /// Where an address is, or where it belongs, with slot none. Valid until the next insert() or erase().
  struct place {
    std::size_t entry;
    std::uint32_t slot;
  };

  /// `has_it`: whether a slot's block has this address.
  template <class HasIt>
  [[nodiscard]] place find(std::uint64_t address, const HasIt& has_it) const {
    const std::uint32_t tag = tag_of(address);
    std::size_t i = home(tag);
    for (; entries_[i].slot != none; i = next(i))
      if (entries_[i].tag == tag && has_it(entries_[i].slot)) break;
    return {i, entries_[i].slot};
  }
  /// Requires: `at` is of this address, which is not there; slot is not none.
  void insert(place at, std::uint64_t address, std::uint32_t slot) {
    const std::uint32_t tag = tag_of(address);
    if (2 * ++used_ > entries_.size() && entries_.size() < most_entries) {
      grow();
      put(tag, slot);
    } else {
      entries_[at.entry] = {tag, slot};
    }
  }
  /// Requires: `at` is of an address that is there.
  void erase(place at) {
    --used_;
    std::size_t hole = at.entry;
    for (std::size_t i = next(hole); entries_[i].slot != none; i = next(i)) {
      // It may move to the hole unless its home lies behind the hole.
      if (((i - home(entries_[i].tag)) & mask_) < ((i - hole) & mask_)) continue;
      entries_[hole] = entries_[i];
      hole = i;
    }
    entries_[hole].slot = none;
  }
  [[nodiscard]] std::size_t size() const { return used_; }

  /// Effects: none; find() will be faster.
  void prefetch(std::uint64_t address) const {
    __builtin_prefetch(&entries_[home(tag_of(address))]);
  }
  /// Returns: what find() most likely will, without a look at any block; or none.
  [[nodiscard]] std::uint32_t likely_slot(std::uint64_t address) const {
    const std::uint32_t tag = tag_of(address);
    std::size_t i = home(tag);
    while (entries_[i].slot != none && entries_[i].tag != tag) i = next(i);
    return entries_[i].slot;
  }

 private:
  struct entry {
    std::uint32_t tag = 0;
    std::uint32_t slot = none;
  };
  static constexpr std::size_t first_entries = 1024;
  static constexpr unsigned tag_bits = 32;
  /// A tag tells no more places apart; from there on the table becomes fuller instead.
  static constexpr std::uint64_t most_entries = std::uint64_t{1} << tag_bits;

  static std::uint32_t tag_of(std::uint64_t address) {
    return static_cast<std::uint32_t>(address * 0x9e3779b97f4a7c15u >> (64 - tag_bits));
  }
  [[nodiscard]] std::size_t home(std::uint32_t tag) const { return tag >> shift_; }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & mask_; }

  void put(std::uint32_t tag, std::uint32_t slot) {
    std::size_t i = home(tag);
    while (entries_[i].slot != none) i = next(i);
    entries_[i] = {tag, slot};
  }
  void grow() {
    std::vector<entry> old(2 * entries_.size());
    old.swap(entries_);
    mask_ = entries_.size() - 1;
    --shift_;
    for (const entry& each : old)
      if (each.slot != none) put(each.tag, each.slot);
  }

  std::vector<entry> entries_ = std::vector<entry>(first_entries);
  std::size_t mask_ = first_entries - 1;
  unsigned shift_ = tag_bits - static_cast<unsigned>(std::countr_zero(first_entries));
  std::size_t used_ = 0;
};

}  // namespace ashlar::trace
