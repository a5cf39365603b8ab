// tools/trace/symbols.cpp. Layer: trace.
#include "tools/trace/symbols.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include <cxxabi.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include "tools/trace/rust_names.hpp"

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

/// Effects: use(elf) for an ELF file. Not where the file is gone or is none: a device has no end, and a
/// pipe waits.
template <class Use>
void with_elf(const std::string& path, Use use) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ::elf_version(EV_CURRENT);
  Elf* const elf = ::elf_begin(file, ELF_C_READ, nullptr);
  if (elf != nullptr) use(elf);
  ::elf_end(elf);
  ::close(file);
}

/// Effects: visit(part) for each part of an ELF file that is loaded.
template <class Visit>
void for_each_loaded(const std::string& path, Visit visit) {
  with_elf(path, [&](Elf* elf) {
    std::size_t count = 0;
    if (::elf_getphdrnum(elf, &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr part;
      if (::gelf_getphdr(elf, static_cast<int>(i), &part) != nullptr && part.p_type == PT_LOAD)
        visit(part);
    }
  });
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
  for_each_loaded(
      path, [&](const GElf_Phdr& part) { lowest = std::min(lowest, part.p_vaddr & ~(page - 1)); });
  return lowest != none ? lowest : 0;
}

std::uint64_t address_at_offset(const std::string& path, std::uint64_t offset) {
  constexpr std::uint64_t page = 4096;
  std::uint64_t address = offset;
  for_each_loaded(path, [&](const GElf_Phdr& part) {
    if ((part.p_offset & ~(page - 1)) <= offset && offset < part.p_offset + part.p_filesz)
      address = offset - part.p_offset + part.p_vaddr;
  });
  return address;
}

std::string build_id_of(const std::string& path) {
  std::string id;
  with_elf(path, [&](Elf* elf) {
    const void* bytes = nullptr;
    if (const auto size = ::dwelf_elf_gnu_build_id(elf, &bytes); size > 0)
      id.assign(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  });
  return id;
}

}  // namespace ashlar::trace
