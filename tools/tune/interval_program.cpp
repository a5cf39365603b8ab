// tools/tune/interval_program.cpp. Layer: tune.
#include "tools/tune/interval_program.hpp"

#include <map>
#include <utility>

#include "tools/tune/sizing.hpp"

namespace ashlar::tune {

interval_program::interval_program(std::span<const block_need> needs, std::size_t most_classes,
                                   std::uint64_t margin_percent)
    : needs_(needs),
      most_classes_(most_classes),
      margin_(margin_percent),
      behind_alignment_(needs.size() + 1, 1),
      least_((most_classes + 1) * (needs.size() + 1)) {
  std::map<std::uint64_t, std::vector<std::uint32_t>> by_alignment;
  for (std::size_t i = needs.size(); i-- > 0;) {
    const std::uint64_t own = class_alignment(needs[i].alignment);
    behind_alignment_[i] = std::max(behind_alignment_[i + 1], own);
    by_alignment.try_emplace(own, needs.size());
  }
  for (auto level = by_alignment.rbegin(); level != by_alignment.rend(); ++level) {
    std::uint32_t behind = 0;
    for (std::size_t j = 0; j < needs.size(); ++j) {
      if (class_alignment(needs[j].alignment) >= level->first)
        behind = static_cast<std::uint32_t>(j + 1);
      level->second[j] = behind;
    }
    levels_.push_back({level->first, std::move(level->second)});
  }
  // Without any class nothing but no need is served.
  std::fill_n(least_.begin(), needs.size(), too_many_bytes);
}

std::uint64_t interval_program::alignment_of(std::size_t first, std::size_t last) const {
  std::size_t l = 0;
  while (levels_[l].behind_last[last] <= first) ++l;  // the last level has every need
  return levels_[l].alignment;
}

interval_program::class_bytes_at interval_program::bytes_of(interval served, std::int32_t peak,
                                                            std::size_t classes) const {
  const auto [first, last] = served;
  const std::uint64_t alignment = alignment_of(first, last);
  const std::uint64_t count = capacity_for(static_cast<std::uint64_t>(peak), margin_);
  const std::uint64_t alone =
      std::min(class_bytes({needs_[last].size, alignment}, count), too_many_bytes);
  if (alignment >= needs_[last].closed_from) return {alone, UINT64_MAX};
  return {alone,
          together(alone, alignment, column(classes - 1)[last + 1], behind_alignment_[last + 1])};
}

// Returns: the first need from `from` on from which on at most `most` bytes are needed.
std::size_t interval_program::first_at_most(std::size_t classes, std::size_t from,
                                            std::uint64_t most) const {
  const std::uint64_t* const bytes = column(classes);
  const std::size_t end = needs_.size();  // where 0 bytes are needed
  std::size_t step = 1;
  while (from + step < end && bytes[from + step] > most) {
    from += step;
    step *= 2;
  }
  return static_cast<std::size_t>(
      std::partition_point(bytes + from, bytes + std::min(from + step, end),
                           [most](std::uint64_t each) { return each > most; }) -
      bytes);
}

// Returns: of the classes that begin with need `first`, that with the smallest last need, `from` at least, which has at
// most `most` bytes with what is behind it; behind the last need where there is none. Requires: first <= from.
interval_program::cut interval_program::first_within(std::uint64_t most, std::size_t first,
                                                     std::size_t from, std::size_t classes,
                                                     const peak_bounds& bounds) const {
  for (std::size_t last = from; last < needs_.size();) {
    const interval served{first, last};
    class_bytes_at bytes = bytes_of(served, bounds.at_least(first, last), classes);
    // Most are too many already by a bound that is found at once.
    if (bytes.with_rest <= most) bytes = bytes_of(served, bounds.at(first, last), classes);
    if (bytes.with_rest <= most) return {last, bytes.with_rest};
    if (bytes.alone > most || last + 1 == needs_.size()) break;
    last = first_at_most(classes - 1, last + 2, most - bytes.alone) - 1;
  }
  return {needs_.size(), too_many_bytes};
}

// Needs of one stretch go together, number of classes by number: they look at nearly the same bounds and bytes.
void interval_program::run(const peak_bounds& bounds) {
  const std::size_t needs = needs_.size();
  // By number of classes: where the first class ends that is best for the needs behind.
  std::vector<std::size_t> last(most_classes_ + 1, needs - 1);
  for (std::size_t begin = 0, end = needs; end > 0; end = begin) {
    begin = (end - 1) / peak_bounds::stretch * peak_bounds::stretch;
    for (std::size_t k = 1; k <= most_classes_; ++k) {
      for (std::size_t i = end; i-- > begin;) find_least(i, k, last[k], bounds);
    }
  }
}

// Effects: finds the least for the needs from i on in at most k classes. `last`: where the first class ends that is best
// for the needs behind i; then for those from i on.
void interval_program::find_least(std::size_t i, std::size_t k, std::size_t& last,
                                  const peak_bounds& bounds) {
  std::uint64_t* const bytes = least_.data() + k * (needs_.size() + 1);
  std::uint64_t least =
      std::min(bytes_of({i, last}, bounds.at(i, last), k).with_rest, too_many_bytes);
  for (std::size_t from = i; least > bytes[i + 1]; from = last + 1) {
    const cut better = first_within(least - 1, i, from, k, bounds);
    if (better.last == needs_.size()) break;
    least = better.bytes;
    last = better.last;
  }
  bytes[i] = least;
}

std::vector<interval> interval_program::partition_of(std::size_t classes,
                                                     const peak_bounds& bounds) const {
  std::vector<interval> parts;
  for (std::size_t i = 0; i < needs_.size();) {
    const std::uint64_t wanted = column(classes)[i];
    while (classes > 1 && column(classes - 1)[i] == wanted) --classes;
    const cut found = first_within(wanted, i, i, classes, bounds);
    parts.push_back({i, std::min(found.last, needs_.size() - 1)});
    i = parts.back().last + 1;
    --classes;
  }
  return parts;
}

}  // namespace ashlar::tune
