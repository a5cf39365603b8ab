// tools/report/attachments.hpp: what other commands wrote, read for the report. Layer: report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace ashlar::report {

// Which class of a set takes a request, and how many bytes its block
// has.

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

/// what() names the file, what is wrong in it, and which command writes such a file.
struct attachment_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct chosen_pools {
  class_set classes;
  nlohmann::json about;  ///< the data's member "pools"
};

/// Reads the JSON of `ashlar tune`. Throws: attachment_error.
[[nodiscard]] chosen_pools read_pools(const std::string& text, const std::string& file);

/// Reads the JSON of `ashlar replay`. Returns: the data's member "replay". Throws: attachment_error.
[[nodiscard]] nlohmann::json read_replay(const std::string& text, const std::string& file);

}  // namespace ashlar::report
