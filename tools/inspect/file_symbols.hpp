// tools/inspect/file_symbols.hpp: what the files of a process call its tables and variables. Layer:
// inspect.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/image/memory_image.hpp"

namespace ashlar::inspect {

/// Names by address. It reads symbols with elfutils, also those of separate debug files. Without
/// symbols the type information that C++ keeps beside each vtable names the type. A file that is
/// another one now than the process had names nothing: a remark tells.
class file_symbols {
 public:
  explicit file_symbols(const image::memory_image& image);
  ~file_symbols();
  file_symbols(const file_symbols&) = delete;
  file_symbols& operator=(const file_symbols&) = delete;

  /// Returns: the C++ type of an object whose first word is `word`; null: that is no vtable's
  /// address.
  [[nodiscard]] const std::string* type_by_first_word(std::uint64_t word);
  /// Returns: "name + 8 in libfoo.so", "libfoo.so" where no symbol is; empty: in no file.
  [[nodiscard]] std::string variable_at(std::uint64_t address) const;
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  struct table {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string type;
  };
  class library;
  [[nodiscard]] std::string find_type(std::uint64_t word) const;
  [[nodiscard]] std::string type_by_information(std::uint64_t word) const;

  const image::memory_image& image_;
  std::unique_ptr<library> library_;
  std::vector<table> tables_;                             // in the order of addresses
  std::unordered_map<std::uint64_t, std::string> known_;  // by first word; empty: none
  std::uint64_t lowest_ = UINT64_MAX;                     // of all files
  std::uint64_t highest_ = 0;
  std::uint64_t last_word_ = 0;
  const std::string* last_ = nullptr;
  std::vector<std::string> remarks_;
};

}  // namespace ashlar::inspect
