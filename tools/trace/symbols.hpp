// tools/trace/symbols.hpp: the functions that addresses are in, from the files' own tables. Layer: trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/trace/format.hpp"
#include "tools/trace/source.hpp"

namespace ashlar::trace {

/// Returns: the lowest address at which an ELF file wants to be loaded: 0 but for programs that are
/// not position-independent, and for what is no such file.
std::uint64_t lowest_address(const std::string& path);

/// Names addresses of a trace by the ELF files of its modules, as they are now. Not thread-safe.
class symbol_finder {
 public:
  explicit symbol_finder(std::vector<module_definition> modules);
  ~symbol_finder();

  /// Returns: "function in library.so", "library.so+0x1234" where no symbol is there, "0x1234" where no module is; of a
  /// recorded pool its name (docs/trace-format.md).
  /// `is_return`: the call is before the address.
  std::string name(std::uint64_t address, bool is_return);

 private:
  struct symbol {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string name;
  };
  using table = std::vector<symbol>;  // by begin
  static void read_symbols(byte_source& file, table& symbols);
  const table& symbols_of(const std::string& path);

  std::vector<module_definition> modules_;
  std::map<std::string, table> tables_;
};

}  // namespace ashlar::trace
