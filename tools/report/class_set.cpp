// tools/report/class_set.cpp. Layer: report.
#include "tools/report/class_set.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/heap/class_table.hpp>

#include "tools/trace/serving_class.hpp"

namespace ashlar::report {

using ashlar::detail::class_table;
using ashlar::detail::standard_classes;

class_set class_set::process_heap() {
  class_set set;
  set.name_ = "process heap";
  set.is_process_heap_ = true;
  for (std::size_t c = 1; c < class_count; ++c)
    set.classes_.push_back(
        {standard_classes.block_size(static_cast<class_index>(c)), block_granule, 0});
  return set;
}

class_set::class_set(std::string name, std::vector<block_class> classes)
    : name_(std::move(name)), classes_(std::move(classes)) {
  std::ranges::sort(classes_, [](const block_class& a, const block_class& b) {
    return std::tie(a.block_size, a.alignment) < std::tie(b.block_size, b.alignment);
  });
}

class_set::place class_set::of_process_heap(std::uint64_t size, std::uint64_t alignment) const {
  if (class_table::serves(size, alignment)) {
    const class_index c = standard_classes.of_aligned_size(size, alignment);
    if (c != 0) return {c - std::size_t{1}, standard_classes.block_size(c)};
  }
  // A damaged trace may say anything; no such block ever lived.
  std::size_t pages = 0;
  if (!align_up_checked(std::max<std::uint64_t>(size, 1), std::size_t{1} << heap_page_shift, pages))
    pages = std::numeric_limits<std::size_t>::max();
  return {classes_.size(), pages};
}

class_set::place class_set::of_chosen(std::uint64_t size, std::uint64_t alignment) const {
  const std::size_t index =
      trace::serving_class(std::span<const block_class>(classes_), size, alignment);
  if (index == classes_.size()) {
    // Such a request still goes to the process heap.
    static const class_set others = process_heap();
    return {index, others.of_process_heap(size, alignment).block_size};
  }
  return {index, classes_[index].block_size};
}

}  // namespace ashlar::report
