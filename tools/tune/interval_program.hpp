// tools/tune/interval_program.hpp: the cheapest partition of the needs for peaks that are told. Layer: tune.
//
//   least(i, k) = min over j of together(class for i..j, least(j + 1, k - 1))     least(needs, k) = 0
//
// It is exact because together() grows with what is behind, and the alignment of that depends on j alone. It runs from
// the last need to the first, as the bytes of a set add up (geometry.hpp). Bytes are doubles, which hold whole numbers up
// to too_many_bytes exactly: processors have a minimum of two of them at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/tune/geometry.hpp"
#include "tools/tune/interval_peaks.hpp"
#include "tools/tune/peak_bounds.hpp"
#include "tools/tune/sizing.hpp"

namespace ashlar::tune {

class interval_program {
 public:
  /// Requires: `needs` outlives this, and is not empty; 0 < most_classes.
  interval_program(std::span<const block_need> needs, std::size_t most_classes,
                   std::uint64_t margin_percent)
      : needs_(needs),
        width_(most_classes + 1),
        margin_(margin_percent),
        behind_alignment_(needs.size() + 1, 1),
        least_((needs.size() + 1) * width_) {
    for (std::size_t i = needs.size(); i-- > 0;) {
      behind_alignment_[i] =
          std::max(behind_alignment_[i + 1], class_alignment(needs[i].alignment));
    }
  }

  /// Complexity: O(needs^2 * most_classes).
  void run(const peak_bounds& bounds) {
    for (std::size_t i = needs_.size(); i-- > 0;) {
      double* const __restrict least = row(i);
      std::fill_n(least, width_, static_cast<double>(too_many_bytes));
      each_class_from(i, bounds, [&](std::size_t j, std::uint64_t bytes, std::uint64_t alignment) {
        const double* const __restrict rest = row(j + 1);
        if (alignment <= behind_alignment_[j + 1]) [[likely]] {
          const auto padded = static_cast<double>(align_up(bytes, behind_alignment_[j + 1]));
          for (std::size_t k = 1; k < width_; ++k)
            least[k] = std::min(least[k], padded + rest[k - 1]);
        } else {
          for (std::size_t k = 1; k < width_; ++k)
            least[k] = std::min(least[k], with_rest(bytes, alignment, j + 1, k - 1));
        }
        return true;
      });
    }
  }

  /// Returns: the bytes of the cheapest set of at most `classes` classes, by the last run().
  [[nodiscard]] std::uint64_t least(std::size_t classes) const {
    return static_cast<std::uint64_t>(row(0)[classes]);
  }

  /// Returns: the partition that has them. Requires: the bounds of the last run().
  [[nodiscard]] std::vector<interval> partition_of(std::size_t classes,
                                                   const peak_bounds& bounds) const {
    std::vector<interval> parts;
    for (std::size_t i = 0; i < needs_.size();) {
      const double wanted = row(i)[classes];
      while (classes > 1 && row(i)[classes - 1] == wanted) --classes;
      std::size_t next = needs_.size();
      each_class_from(i, bounds, [&](std::size_t j, std::uint64_t bytes, std::uint64_t alignment) {
        if (with_rest(bytes, alignment, j + 1, classes - 1) != wanted) return true;
        next = j + 1;
        return false;
      });
      parts.push_back({i, next - 1});
      i = next;
      --classes;
    }
    return parts;
  }

 private:
  [[nodiscard]] const double* row(std::size_t i) const { return least_.data() + i * width_; }
  [[nodiscard]] double* row(std::size_t i) { return least_.data() + i * width_; }

  // A class of `bytes` with the cheapest set of `classes` classes for the needs from `next` on behind it.
  [[nodiscard]] double with_rest(std::uint64_t bytes, std::uint64_t alignment, std::size_t next,
                                 std::size_t classes) const {
    return static_cast<double>(together(
        bytes, alignment, static_cast<std::uint64_t>(row(next)[classes]), behind_alignment_[next]));
  }

  // Calls visit(j, bytes, alignment) for the class of each interval i..j while it returns true.
  template <class Visit>
  void each_class_from(std::size_t i, const peak_bounds& bounds, Visit visit) const {
    const std::span<const std::int32_t> peaks = bounds.from(i);
    std::uint64_t alignment = 1;
    for (std::size_t j = i; j < needs_.size(); ++j) {
      alignment = std::max(alignment, class_alignment(needs_[j].alignment));
      const std::uint64_t count = capacity_for(static_cast<std::uint64_t>(peaks[j - i]), margin_);
      if (!visit(j, bytes_of_class(needs_[j], alignment, count), alignment)) return;
    }
  }

  std::span<const block_need> needs_;
  std::size_t width_;
  std::uint64_t margin_;
  std::vector<std::uint64_t>
      behind_alignment_;       // at [i]: of a set of classes for the needs from i on
  std::vector<double> least_;  // rows of 0 ... most_classes classes at most
};

}  // namespace ashlar::tune
