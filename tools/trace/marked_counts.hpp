// tools/trace/marked_counts.hpp: counts, and what each was when a mark was set. Layer: trace.
//
// A program that grows reaches a new peak with each block: to copy all counts each time would cost more than all else.
// So a mark is a number, and a count remembers by how much it has changed since the mark that it last saw.
// Law: at_mark(i) == now(i) at the last mark().
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar::trace {

class marked_counts {
 public:
  explicit marked_counts(std::size_t count) : counts_(count) {}

  /// Effects: there is one count more, which is 0 and was 0 at the mark. Returns: its index.
  std::size_t add_count() {
    counts_.emplace_back();
    return counts_.size() - 1;
  }

  void add(std::size_t i, std::int64_t change) {
    entry& e = counts_[i];
    if (e.mark != mark_) {
      e.mark = mark_;
      e.since = 0;
    }
    e.since += change;
    e.now += change;
  }
  /// O(1).
  void mark() { ++mark_; }

  [[nodiscard]] std::size_t size() const { return counts_.size(); }
  [[nodiscard]] std::int64_t now(std::size_t i) const { return counts_[i].now; }
  [[nodiscard]] std::int64_t at_mark(std::size_t i) const {
    const entry& e = counts_[i];
    return e.mark == mark_ ? e.now - e.since : e.now;
  }

 private:
  struct entry {
    std::int64_t now = 0;
    std::int64_t since = 0;
    std::uint64_t mark = 0;
  };
  std::vector<entry> counts_;
  std::uint64_t mark_ = 0;
};

}  // namespace ashlar::trace
