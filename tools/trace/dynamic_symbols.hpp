// tools/trace/dynamic_symbols.hpp: what a mapped file defines and refers to, by its dynamic
// section. Layer: trace. Needs no library: the recorder in the program includes it.
#pragma once

#include <cstdint>
#include <cstring>

#include <link.h>

namespace ashlar::trace {

/// The tables that the loader uses. They lie in memory: in this process, or in a copy of another's.
struct dynamic_symbols {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;     ///< the older table; either may be missing
  const ElfW(Rela) * relocations[2] = {};  ///< of data, of calls
  std::size_t relocation_counts[2] = {};

  /// Effects: reads the section. `bias`: the difference of the file's addresses to the process's;
  /// `moved`: of the process's to where they are read.
  void read(const ElfW(Dyn) * section, ElfW(Addr) bias, std::intptr_t moved = 0) {
    std::size_t bytes[2] = {};
    for (const ElfW(Dyn)* d = section; d->d_tag != DT_NULL; ++d) {
      // The loader has made most of them addresses; some files stay as they were.
      const ElfW(Addr) address = d->d_un.d_ptr < bias ? d->d_un.d_ptr + bias : d->d_un.d_ptr;
      const auto at = address + static_cast<ElfW(Addr)>(moved);
      if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(at);
      if (d->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(at);
      if (d->d_tag == DT_GNU_HASH) gnu_hash = reinterpret_cast<const std::uint32_t*>(at);
      if (d->d_tag == DT_HASH) hash = reinterpret_cast<const std::uint32_t*>(at);
      if (d->d_tag == DT_RELA) relocations[0] = reinterpret_cast<const ElfW(Rela)*>(at);
      if (d->d_tag == DT_RELASZ) bytes[0] = d->d_un.d_val;
      if (d->d_tag == DT_JMPREL) relocations[1] = reinterpret_cast<const ElfW(Rela)*>(at);
      if (d->d_tag == DT_PLTRELSZ) bytes[1] = d->d_un.d_val;
    }
    for (int i = 0; i < 2; ++i)
      relocation_counts[i] = relocations[i] != nullptr ? bytes[i] / sizeof(ElfW(Rela)) : 0;
  }

  [[nodiscard]] bool defines(std::uint32_t index, const char* name) const {
    const ElfW(Sym)& s = symbols[index];
    return s.st_shndx != SHN_UNDEF && s.st_value != 0 &&
           std::strcmp(strings + s.st_name, name) == 0;
  }

  /// Returns: the definition of this name; null: the file has none.
  [[nodiscard]] const ElfW(Sym) * find(const char* name) const {
    if (symbols == nullptr || strings == nullptr) return nullptr;
    if (gnu_hash != nullptr) return find_by_gnu_hash(name);
    if (hash == nullptr) return nullptr;
    const std::uint32_t count = hash[1];
    for (std::uint32_t i = 1; i < count; ++i)
      if (defines(i, name)) return &symbols[i];
    return nullptr;
  }

 private:
  // [ buckets | first symbol | words of the filter | shift | filter | buckets | hashes of symbols ]
  [[nodiscard]] const ElfW(Sym) * find_by_gnu_hash(const char* name) const {
    std::uint32_t wanted = 5381;
    for (const char* c = name; *c != '\0'; ++c)
      wanted = wanted * 33 + static_cast<unsigned char>(*c);
    const std::uint32_t bucket_count = gnu_hash[0];
    const std::uint32_t first = gnu_hash[1];
    const std::uint32_t* const buckets =
        gnu_hash + 4 + gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
    const std::uint32_t* const hashes = buckets + bucket_count;
    if (bucket_count == 0) return nullptr;
    for (std::uint32_t i = buckets[wanted % bucket_count]; i >= first; ++i) {
      const std::uint32_t each = hashes[i - first];
      if ((each | 1) == (wanted | 1) && defines(i, name)) return &symbols[i];
      if ((each & 1) != 0) break;  // the last one of its bucket
    }
    return nullptr;
  }
};

}  // namespace ashlar::trace
