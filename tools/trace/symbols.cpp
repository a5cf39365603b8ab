// tools/trace/symbols.cpp. Layer: trace.
#include "tools/trace/symbols.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>

namespace ashlar::trace {
namespace {

std::string demangled(const char* name) {
  int status = 0;
  char* const plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string found = status == 0 && plain != nullptr ? plain : name;
  std::free(plain);
  return found;
}

/// A part of a file that has to be there; nothing where the file says otherwise.
template <class Part>
bool read_part(const std::string& file, std::uint64_t at, Part& part) {
  if (at > file.size() || file.size() - at < sizeof part) return false;
  std::memcpy(&part, file.data() + at, sizeof part);
  return true;
}

}  // namespace

symbol_finder::symbol_finder(std::vector<module_definition> modules)
    : modules_(std::move(modules)) {}
symbol_finder::~symbol_finder() = default;

const symbol_finder::table& symbol_finder::symbols_of(const std::string& path) {
  const auto known = tables_.find(path);
  if (known != tables_.end()) return known->second;
  table& symbols = tables_[path];
  std::ifstream stream(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(stream), {}};
  Elf64_Ehdr header;
  if (!read_part(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return symbols;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    Elf64_Shdr names;
    if (!read_part(file, header.e_shoff + std::uint64_t{i} * sizeof section, section)) break;
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (!read_part(file, header.e_shoff + std::uint64_t{section.sh_link} * sizeof names, names))
      continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym s;
      if (!read_part(file, section.sh_offset + at, s)) break;
      const std::uint64_t name_at = names.sh_offset + s.st_name;
      if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_size == 0 || name_at >= file.size())
        continue;
      symbols.push_back({s.st_value, s.st_value + s.st_size, file.c_str() + name_at});
    }
  }
  std::sort(symbols.begin(), symbols.end(),
            [](const symbol& a, const symbol& b) { return a.begin < b.begin; });
  return symbols;
}

std::string symbol_finder::name(std::uint64_t address, bool is_return) {
  const std::uint64_t inside = address - (is_return ? 1 : 0);
  // The last one: what was mapped there later.
  const auto module = std::find_if(modules_.rbegin(), modules_.rend(), [&](const auto& m) {
    return m.begin <= inside && inside < m.end;
  });
  if (module == modules_.rend()) return fmt::format("{:#x}", address);
  const std::string file = std::filesystem::path(module->path).filename().string();
  if (address == module->bias) return file;  // nobody returns to a file's first byte: a pool
  const table& symbols = symbols_of(module->path);
  const std::uint64_t own = inside - module->bias;
  auto behind = std::upper_bound(symbols.begin(), symbols.end(), own,
                                 [](std::uint64_t a, const symbol& s) { return a < s.begin; });
  if (behind != symbols.begin() && own < (--behind)->end)
    return fmt::format("{} in {}", demangled(behind->name.c_str()), file);
  return fmt::format("{}+{:#x}", file, address - module->bias);
}

}  // namespace ashlar::trace
