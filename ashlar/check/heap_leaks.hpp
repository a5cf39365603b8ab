// check/heap_leaks.hpp: what the end of a heap instance tells of blocks in use.
// Layer: check.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/check/block_records.hpp>
#include <ashlar/check/full_check.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/os/call_stack.hpp>
#include <ashlar/os/page_source.hpp>

namespace ashlar::detail {

// Blocks in use, by the call and the place that made them.
// Memory from the system: a heap is what is described.

/// Blocks that one call made, at one place.
struct leak_site {
  const char* call = nullptr;
  os::call_stack at;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

struct leak_totals {
  std::uint64_t blocks = 0, bytes = 0;
};

/// The sites of all blocks in use, most bytes first; none when memory is refused.
class leak_sites {
 public:
  /// `for_each_live(visit)` calls visit(record) for each block in use, twice alike but for what
  /// happens meanwhile: once to learn how many sites there may be, once to fill. What is allocated
  /// between the two may be left out; the report is of a moment.
  template <class ForEachLive>
  explicit leak_sites(ForEachLive for_each_live) noexcept {
    std::size_t live = 0;
    for_each_live([&](const block_record&) { ++live; });
    slots_ = 16;
    while (slots_ < live * 2) slots_ *= 2;
    all_ = static_cast<leak_site*>(
        os::page_source::allocate(slots_ * sizeof(leak_site), alignof(leak_site)));
    if (all_ == nullptr) return;
    for_each_live([&](const block_record& r) { add(r); });
    count_ = static_cast<std::size_t>(
        std::remove_if(all_, all_ + slots_, [](const leak_site& s) { return s.blocks == 0; }) -
        all_);
    std::sort(all_, all_ + count_,
              [](const leak_site& a, const leak_site& b) { return a.bytes > b.bytes; });
  }
  leak_sites(const leak_sites&) = delete;
  leak_sites& operator=(const leak_sites&) = delete;
  ~leak_sites() {
    os::page_source::deallocate(all_, slots_ * sizeof(leak_site), alignof(leak_site));
  }

  [[nodiscard]] const leak_site* begin() const noexcept { return all_; }
  [[nodiscard]] const leak_site* end() const noexcept { return all_ + count_; }

  [[nodiscard]] leak_totals total() const noexcept {
    leak_totals t;
    for (const leak_site& s : *this) {
      t.blocks += s.blocks;
      t.bytes += s.bytes;
    }
    return t;
  }

 private:
  [[nodiscard]] static bool is_same_place(const leak_site& s, const deed& d) noexcept {
    return std::strcmp(s.call, d.call) == 0 && s.at.depth == d.at.depth &&
           std::equal(s.at.frames, s.at.frames + s.at.depth, d.at.frames);
  }

  void add(const block_record& r) noexcept {
    if (used_ == slots_ - 1) return;
    std::uint64_t hash = 0;
    for (unsigned i = 0; i < r.made.at.depth; ++i)
      hash = (hash ^ reinterpret_cast<std::uintptr_t>(r.made.at.frames[i])) * 0x9e3779b97f4a7c15u;
    std::size_t i = static_cast<std::size_t>(hash >> 20) & (slots_ - 1);
    while (all_[i].blocks != 0 && !is_same_place(all_[i], r.made)) i = (i + 1) & (slots_ - 1);
    leak_site& s = all_[i];
    if (s.blocks == 0) {
      ++used_;
      s.call = r.made.call;
      s.at = r.made.at;
    }
    ++s.blocks;
    s.bytes += r.size;
  }

  leak_site* all_ = nullptr;
  std::size_t slots_ = 0, used_ = 0, count_ = 0;
};

/// Effects: one line on standard error for all blocks in use, after those of the places that made
/// them; without full checks, one for each class of `stats`. Nothing when no block is in use. Ends
/// in a fault, leak, when `leaks` says stop. `name` is the heap's, or null. O(blocks in use).
void tell_leaks(heap_leaks leaks, full_check& checks, const ashlar_stats& stats,
                const char* name) noexcept;

}  // namespace ashlar::detail
