// os/elf_notes.hpp: the notes of an ELF file, as they are mapped.
// Layer: os. For the sources that read such files alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <elf.h>
#include <link.h>

#include <ashlar/core/bits.hpp>

namespace ashlar::os {

/// What a note says.
struct elf_note {
  const std::byte* description = nullptr;  ///< null: there is no such note
  std::size_t bytes = 0;
};

/// Returns: the first note of this owner for which matches(type), of a segment that lies at `at`
/// and has `bytes`. A note is a header, the owner's name and a description. The last two begin at
/// multiples of the segment's alignment.
template <class Matches>
[[nodiscard]] elf_note find_note(const std::byte* at, std::size_t bytes, const ElfW(Phdr) & segment,
                                 const char* owner, Matches matches) noexcept {
  const std::size_t alignment = segment.p_align == 8 ? 8 : 4;
  const std::size_t owner_size = std::strlen(owner) + 1;
  ElfW(Nhdr) header;
  while (bytes >= sizeof header) {
    std::memcpy(&header, at, sizeof header);
    const std::size_t text = align_up(sizeof header + header.n_namesz, alignment);
    const std::size_t end = align_up(text + header.n_descsz, alignment);
    if (text > bytes) break;
    if (header.n_namesz == owner_size && std::memcmp(at + sizeof header, owner, owner_size) == 0 &&
        matches(header.n_type))
      return {at + text, std::min<std::size_t>(header.n_descsz, bytes - text)};
    if (end > bytes) break;
    at += end;
    bytes -= end;
  }
  return {};
}

/// Returns: the build id in such a segment.
[[nodiscard]] inline elf_note find_build_id(const std::byte* at, std::size_t bytes,
                                            const ElfW(Phdr) & segment) noexcept {
  return find_note(at, bytes, segment, "GNU", [](auto type) { return type == NT_GNU_BUILD_ID; });
}

}  // namespace ashlar::os
