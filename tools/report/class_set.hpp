// tools/report/class_set.hpp: which class of a set takes a request, and how many bytes its block
// has. Layer: report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::report {

struct block_class {
  std::uint64_t block_size = 0;
  std::uint64_t alignment = 0;
  std::uint64_t capacity = 0;  ///< 0: not bounded
};

/// The classes of the process heap, or those that were chosen for a program.
class class_set {
 public:
  /// What takes a request. `index` is size() for what no class takes, which the process heap's
  /// pages serve.
  struct place {
    std::size_t index = 0;
    std::uint64_t block_size = 0;
  };

  /// Returns: the process heap's.
  static class_set process_heap();
  /// The smallest class that holds a request takes it. Requires: a class at least.
  class_set(std::string name, std::vector<block_class> classes);

  [[nodiscard]] place of(std::uint64_t size, std::uint64_t alignment) const {
    return is_process_heap_ ? of_process_heap(size, alignment) : of_chosen(size, alignment);
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t size() const { return classes_.size(); }
  [[nodiscard]] const block_class& operator[](std::size_t i) const { return classes_[i]; }

 private:
  class_set() = default;
  [[nodiscard]] place of_process_heap(std::uint64_t size, std::uint64_t alignment) const;
  [[nodiscard]] place of_chosen(std::uint64_t size, std::uint64_t alignment) const;

  std::string name_;
  std::vector<block_class> classes_;  // ascending by block size, then by alignment
  bool is_process_heap_ = false;
};

}  // namespace ashlar::report
