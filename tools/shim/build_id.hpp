// tools/shim/build_id.hpp: the build id in a file's notes, as they are mapped. Layer: shim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <elf.h>
#include <link.h>

namespace ashlar::shim {

struct build_id {
  const unsigned char* at = nullptr;  // null: there is none
  std::uint32_t bytes = 0;
};
inline constexpr std::uint32_t build_id_bytes_max = 32;

/// Requires: from `notes` up to `end` is a whole segment of notes.
inline build_id find_id_in(const unsigned char* notes, const unsigned char* end) {
  constexpr auto aligned = [](std::uint32_t bytes) { return (bytes + 3) / 4 * std::size_t{4}; };
  constexpr char owner[] = "GNU";
  while (static_cast<std::size_t>(end - notes) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const unsigned char* const name = notes + sizeof note;
    const std::size_t bytes = aligned(note.n_namesz) + aligned(note.n_descsz);
    if (static_cast<std::size_t>(end - name) < bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof owner &&
        std::memcmp(name, owner, sizeof owner) == 0 && note.n_descsz != 0 &&
        note.n_descsz <= build_id_bytes_max)
      return {name + aligned(note.n_namesz), note.n_descsz};
    notes = name + bytes;
  }
  return {};
}

}  // namespace ashlar::shim
