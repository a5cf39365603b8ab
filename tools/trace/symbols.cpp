// tools/trace/symbols.cpp. Layer: trace.
#include "tools/trace/symbols.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <cxxabi.h>
#include <elf.h>

#include "tools/trace/error.hpp"
#include "tools/trace/rust_names.hpp"
#include "tools/trace/source.hpp"

namespace ashlar::trace {
namespace {

/// Rust's older names are C++ names with a hash at the end, and with words for what C++ has no
/// letters for.
std::string without_rust_hash(std::string name) {
  constexpr std::size_t digits = 16;
  constexpr std::string_view before = "::h";
  if (name.size() < digits + before.size()) return name;
  const std::size_t at = name.size() - digits - before.size();
  if (name.compare(at, before.size(), before) != 0 ||
      !std::all_of(name.end() - digits, name.end(),
                   [](unsigned char c) { return std::isxdigit(c) != 0; }))
    return name;
  name.resize(at);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> words{{
      {"_$", "$"},
      {"$LT$", "<"},
      {"$GT$", ">"},
      {"$LP$", "("},
      {"$RP$", ")"},
      {"$RF$", "&"},
      {"$BP$", "*"},
      {"$C$", ","},
      {"$SP$", "@"},
      {"$u20$", " "},
      {"$u7b$$u7b$closure$u7d$$u7d$", "{{closure}}"},
      {"..", "::"},
  }};
  for (const auto& [word, letter] : words)
    for (std::size_t i = name.find(word); i != std::string::npos; i = name.find(word, i + 1))
      name.replace(i, word.size(), letter);
  return name;
}

/// A part of a file that has to be there; nothing where the file says otherwise.
template <class Part>
bool read_part(byte_source& file, std::uint64_t at, Part& part) {
  return at <= file.size() && file.size() - at >= sizeof part &&
         file.read(at, {reinterpret_cast<std::uint8_t*>(&part), sizeof part}) == sizeof part;
}

/// What the file has of it.
std::string bytes_of(byte_source& file, std::uint64_t at, std::uint64_t count) {
  if (at >= file.size()) return {};
  std::string bytes(std::min<std::uint64_t>(count, file.size() - at), '\0');
  bytes.resize(file.read(at, {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()}));
  return bytes;
}

bool read_header(byte_source& file, Elf64_Ehdr& header) {
  return read_part(file, 0, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64;
}

/// Returns: of a segment of notes the build id; empty: it has none.
std::string build_id_in(const std::string& notes) {
  constexpr char name_of_owner[] = "GNU";
  const std::string_view owner(name_of_owner, sizeof name_of_owner);  // with its 0
  const auto aligned = [](std::uint32_t bytes) { return (std::size_t{bytes} + 3) / 4 * 4; };
  Elf64_Nhdr note;
  for (std::size_t at = 0; notes.size() - at >= sizeof note;) {
    std::memcpy(&note, notes.data() + at, sizeof note);
    at += sizeof note;
    const std::size_t name = aligned(note.n_namesz);
    const std::size_t bytes = name + aligned(note.n_descsz);
    if (notes.size() - at < bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == owner.size() &&
        notes.compare(at, owner.size(), owner) == 0)
      return notes.substr(at + name, note.n_descsz);
    at += bytes;
  }
  return {};
}

/// Effects: visit(header) for each part of an ELF file that is loaded or is a note. None where the file
/// is gone or is none.
template <class Visit>
void for_each_part(const std::string& path, Visit visit) {
  try {
    const auto file = open_file_source(path);
    Elf64_Ehdr header;
    if (!read_header(*file, header)) return;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr part;
      if (!read_part(*file, header.e_phoff + std::uint64_t{i} * sizeof part, part)) return;
      visit(*file, part);
    }
  } catch (const trace_error&) {
    return;  // it is gone, or is no file
  }
}

}  // namespace

std::string demangled(const char* name) {
  if (std::string of_rust = rust_name(name); !of_rust.empty()) return of_rust;
  int status = 0;
  char* const plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string found = status == 0 && plain != nullptr ? without_rust_hash(plain) : name;
  std::free(plain);
  return found;
}

std::uint64_t lowest_address(const std::string& path) {
  constexpr std::uint64_t page = 4096;
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t lowest = none;
  for_each_part(path, [&](byte_source&, const Elf64_Phdr& part) {
    if (part.p_type == PT_LOAD) lowest = std::min(lowest, part.p_vaddr & ~(page - 1));
  });
  return lowest != none ? lowest : 0;
}

std::uint64_t address_at_offset(const std::string& path, std::uint64_t offset) {
  constexpr std::uint64_t page = 4096;
  std::uint64_t address = offset;
  for_each_part(path, [&](byte_source&, const Elf64_Phdr& part) {
    if (part.p_type == PT_LOAD && (part.p_offset & ~(page - 1)) <= offset &&
        offset < part.p_offset + part.p_filesz)
      address = offset - part.p_offset + part.p_vaddr;
  });
  return address;
}

std::string build_id_of(const std::string& path) {
  std::string id;
  for_each_part(path, [&](byte_source& file, const Elf64_Phdr& part) {
    if (part.p_type == PT_NOTE && id.empty())
      id = build_id_in(bytes_of(file, part.p_offset, part.p_filesz));
  });
  return id;
}

symbol_table::symbol_table(const std::string& path) {
  try {
    read(path);
  } catch (const trace_error&) {
    symbols_.clear();  // it is gone, or was none: a trace may name a device
  }
}

void symbol_table::read(const std::string& path) {
  const auto file = open_file_source(path);
  Elf64_Ehdr header;
  if (!read_header(*file, header)) return;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    Elf64_Shdr linked;
    if (!read_part(*file, header.e_shoff + std::uint64_t{i} * sizeof section, section)) break;
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (!read_part(*file, header.e_shoff + std::uint64_t{section.sh_link} * sizeof linked, linked))
      continue;
    const std::string names = bytes_of(*file, linked.sh_offset, linked.sh_size);
    const std::string entries = bytes_of(*file, section.sh_offset, section.sh_size);
    for (std::size_t at = 0; entries.size() - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
      Elf64_Sym s;
      std::memcpy(&s, entries.data() + at, sizeof s);
      if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_size == 0 || s.st_name >= names.size())
        continue;
      symbols_.push_back({s.st_value, s.st_value + s.st_size, names.c_str() + s.st_name});
    }
  }
  std::ranges::sort(symbols_, {}, &symbol::begin);
}

std::string symbol_table::function_at(std::uint64_t address) const {
  auto behind = std::ranges::upper_bound(symbols_, address, {}, &symbol::begin);
  if (behind == symbols_.begin() || address >= (--behind)->end) return {};
  return demangled(behind->name.c_str());
}

}  // namespace ashlar::trace
