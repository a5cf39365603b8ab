// tools/attach/process_modules.cpp. Layer: attach.
#include "tools/attach/process_modules.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <elf.h>
#include <link.h>
#include <sys/uio.h>

#include "tools/image/process_status.hpp"
#include "tools/trace/dynamic_symbols.hpp"

namespace ashlar::attach {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool read_bytes(pid_t pid, std::uint64_t address, void* to, std::size_t bytes) {
  const iovec here{to, bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

bool write_bytes(pid_t pid, std::uint64_t address, const void* from, std::size_t bytes) {
  const iovec here{const_cast<void*>(from), bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_writev(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

process_modules::process_modules(pid_t pid) : pid_(pid) {
  auto all = trace::mappings_of(pid);
  if (!all) image::refuse(pid, errno, "its mappings");
  parts_ = std::move(*all);
  if (parts_.empty()) image::fail_gone(pid);
}

std::string process_modules::find_file(std::string_view name_begin) const {
  const auto found = std::ranges::find_if(parts_, [&](const trace::process_mapping& p) {
    return p.path.starts_with('/') && file_name(p.path).starts_with(name_begin);
  });
  return found == parts_.end() ? std::string() : found->path;
}

std::string process_modules::c_library() const {
  const std::string now = find_file("libc.so.6");
  return !now.empty() ? now : find_file("libc-2.");  // its name before version 2.34
}

const trace::process_mapping* process_modules::find(std::uint64_t address) const {
  const auto found = std::ranges::find_if(parts_, [&](const trace::process_mapping& p) {
    return address >= p.begin && address < p.end;
  });
  return found == parts_.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> process_modules::find_function(const std::string& path,
                                                            const char* name) const {
  const auto first = std::ranges::find_if(
      parts_, [&](const trace::process_mapping& p) { return p.path == path && p.offset == 0; });
  if (first == parts_.end()) return std::nullopt;
  std::array<char, SELFMAG> magic{};
  if (!read_bytes(pid_, first->begin, magic.data(), magic.size()) ||
      std::memcmp(magic.data(), ELFMAG, SELFMAG) != 0)
    return std::nullopt;
  // The tables of names are in the file's first part. They are read there, as the loader has mapped
  // them: the file itself may have been replaced since.
  std::vector<unsigned char> bytes(first->end - first->begin);
  if (bytes.size() < sizeof(ElfW(Ehdr)) ||
      !read_bytes(pid_, first->begin, bytes.data(), bytes.size()))
    return std::nullopt;
  ElfW(Ehdr) head;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.e_phentsize != sizeof(ElfW(Phdr)) ||
      head.e_phoff + head.e_phnum * sizeof(ElfW(Phdr)) > bytes.size())
    return std::nullopt;
  std::uint64_t bias = 0;
  bool has_bias = false;
  ElfW(Phdr) dynamic{};
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    ElfW(Phdr) each;
    std::memcpy(&each, bytes.data() + head.e_phoff + i * sizeof each, sizeof each);
    if (each.p_type == PT_DYNAMIC) dynamic = each;
    if (each.p_type != PT_LOAD || has_bias) continue;
    bias = first->begin - each.p_vaddr;
    has_bias = true;
  }
  std::vector<ElfW(Dyn)> section(dynamic.p_memsz / sizeof(ElfW(Dyn)) + 1);  // a null one ends it
  if (dynamic.p_memsz == 0 || !read_bytes(pid_, bias + dynamic.p_vaddr, section.data(),
                                          dynamic.p_memsz / sizeof(ElfW(Dyn)) * sizeof(ElfW(Dyn))))
    return std::nullopt;
  trace::dynamic_symbols symbols;
  symbols.read(
      section.data(), bias,
      static_cast<std::intptr_t>(reinterpret_cast<std::uintptr_t>(bytes.data()) - first->begin));
  const auto is_here = [&](const void* table) {
    const auto* const at = static_cast<const unsigned char*>(table);
    return at == nullptr || (at >= bytes.data() && at < bytes.data() + bytes.size());
  };
  if (!is_here(symbols.symbols) || !is_here(symbols.strings) || !is_here(symbols.gnu_hash) ||
      !is_here(symbols.hash))
    return std::nullopt;
  const ElfW(Sym)* const found = symbols.find(name);
  if (found == nullptr) return std::nullopt;
  return bias + found->st_value;
}

std::vector<std::string> process_modules::files_with(const char* name) const {
  std::vector<std::string> found;
  for (const trace::process_mapping& p : parts_) {
    const bool is_seen = std::ranges::find(found, p.path) != found.end();
    if (p.rights.find('x') != std::string::npos && !is_seen && find_function(p.path, name))
      found.push_back(p.path);
  }
  return found;
}

}  // namespace ashlar::attach
