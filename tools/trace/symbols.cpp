// tools/trace/symbols.cpp. Layer: trace.
#include "tools/trace/symbols.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>

#include "tools/trace/error.hpp"

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
bool read_part(byte_source& file, std::uint64_t at, Part& part) {
  return at <= file.size() && file.size() - at >= sizeof part &&
         file.read(at, {reinterpret_cast<std::uint8_t*>(&part), sizeof part}) == sizeof part;
}

/// What the file has of it.
std::string bytes_of(byte_source& file, const Elf64_Shdr& section) {
  if (section.sh_offset >= file.size()) return {};
  std::string bytes(std::min<std::uint64_t>(section.sh_size, file.size() - section.sh_offset),
                    '\0');
  bytes.resize(
      file.read(section.sh_offset, {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()}));
  return bytes;
}

}  // namespace

std::uint64_t lowest_address(const std::string& path) {
  constexpr std::uint64_t page = 4096;
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  try {
    const auto file = open_file_source(path);
    Elf64_Ehdr header;
    if (!read_part(*file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64)
      return 0;
    std::uint64_t lowest = none;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr part;
      if (!read_part(*file, header.e_phoff + std::uint64_t{i} * sizeof part, part)) break;
      if (part.p_type == PT_LOAD) lowest = std::min(lowest, part.p_vaddr & ~(page - 1));
    }
    return lowest != none ? lowest : 0;
  } catch (const trace_error&) {
    return 0;  // it is gone, or is no file
  }
}

symbol_finder::symbol_finder(std::vector<module_definition> modules)
    : modules_(std::move(modules)) {}
symbol_finder::~symbol_finder() = default;

void symbol_finder::read_symbols(byte_source& file, table& symbols) {
  Elf64_Ehdr header;
  if (!read_part(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    Elf64_Shdr linked;
    if (!read_part(file, header.e_shoff + std::uint64_t{i} * sizeof section, section)) break;
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (!read_part(file, header.e_shoff + std::uint64_t{section.sh_link} * sizeof linked, linked))
      continue;
    const std::string names = bytes_of(file, linked);
    const std::string entries = bytes_of(file, section);
    for (std::size_t at = 0; entries.size() - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
      Elf64_Sym s;
      std::memcpy(&s, entries.data() + at, sizeof s);
      if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_size == 0 || s.st_name >= names.size())
        continue;
      symbols.push_back({s.st_value, s.st_value + s.st_size, names.c_str() + s.st_name});
    }
  }
  std::sort(symbols.begin(), symbols.end(),
            [](const symbol& a, const symbol& b) { return a.begin < b.begin; });
}

const symbol_finder::table& symbol_finder::symbols_of(const std::string& path) {
  const auto [found, is_new] = tables_.try_emplace(path);
  if (is_new) {
    try {
      read_symbols(*open_file_source(path), found->second);
    } catch (const trace_error&) {
      found->second.clear();  // it is gone, or was none: a trace may name a device
    }
  }
  return found->second;
}

std::string symbol_finder::name(std::uint64_t address, bool is_return) {
  const std::uint64_t inside = address - (is_return ? 1 : 0);
  // The last one: what was mapped there later.
  const auto module = std::find_if(modules_.rbegin(), modules_.rend(), [&](const auto& m) {
    return m.begin <= inside && inside < m.end;
  });
  if (module == modules_.rend()) return fmt::format("{:#x}", address);
  std::string file = std::filesystem::path(module->path).filename().string();
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
