// os/code_file_linux.cpp: os/code_file.hpp by the loader's list that is read without a lock.
// Layer: os.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include <link.h>

#include <ashlar/os/code_file.hpp>
#include <ashlar/os/elf_notes.hpp>
#include <ashlar/os/find_object.hpp>

namespace ashlar::os {

// Before 2.35 the GNU C library told of its files only under a lock, and others still do.
#if ASHLAR_HAS_FIND_OBJECT

namespace {

constexpr std::size_t first_page_bytes = 4096;
constexpr std::size_t build_id_bytes_max = 32;

struct file_identity {
  const void* begin = nullptr;
  const void* end = nullptr;
  const void* unwind_table = nullptr;
  elf_note id;
  unsigned char id_copy[build_id_bytes_max] = {};
};

// That of number n is at n - 1. They are only ever added. One that a thread is just writing is not
// whole yet.
constexpr std::uint32_t identities_max = 1024;
constinit file_identity identities[identities_max];
constinit bool is_whole[identities_max];
constinit std::uint32_t identities_count = 0;
constinit const link_map* last_of_first = nullptr;

/// Returns: none, unless it lies in the first page: that one is mapped whichever file it is, so
/// that looking does not fault.
elf_note find_id(const void* begin) {
  const auto* const page = static_cast<const std::byte*>(begin);
  ElfW(Ehdr) file;
  std::memcpy(&file, page, sizeof file);
  if (std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_phentsize != sizeof(ElfW(Phdr)) ||
      file.e_phoff + file.e_phnum * sizeof(ElfW(Phdr)) > first_page_bytes)
    return {};
  for (std::size_t i = 0; i < file.e_phnum; ++i) {
    ElfW(Phdr) segment;
    std::memcpy(&segment, page + file.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_NOTE || segment.p_offset + segment.p_filesz > first_page_bytes)
      continue;
    const elf_note found = find_build_id(page + segment.p_offset, segment.p_filesz, segment);
    if (found.description != nullptr && found.bytes <= build_id_bytes_max) return found;
  }
  return {};
}

/// Returns: the loader itself in its list, or where it is not in that, the list's first file: what
/// is loaded later is behind it. Where the loader is not the last one, some of the first files are,
/// too.
const link_map* place_of_loader() {
  const link_map* at = _r_debug.r_map;
  while (at != nullptr && at->l_addr != _r_debug.r_ldbase) at = at->l_next;
  return at != nullptr ? at : _r_debug.r_map;
}

bool is_first(const link_map* map) {
  const link_map* last = __atomic_load_n(&last_of_first, __ATOMIC_ACQUIRE);
  if (last == nullptr) {
    last = place_of_loader();
    __atomic_store_n(&last_of_first, last, __ATOMIC_RELEASE);
  }
  // These stay, so that their links can be followed while others change theirs.
  const link_map* first = _r_debug.r_map;
  while (first != map && first != last) first = first->l_next;
  return first != nullptr && first == map;
}

bool is_same(const file_identity& known, const dl_find_object& now) {
  return known.begin == now.dlfo_map_start && known.end == now.dlfo_map_end &&
         known.unwind_table == now.dlfo_eh_frame &&
         std::memcmp(known.id.description, known.id_copy, known.id.bytes) == 0;
}

/// Returns: false: it cannot be told from others.
bool number_of(const dl_find_object& object, file_number& number) {
  number = stays_loaded;
  if (is_first(object.dlfo_link_map)) return true;
  const elf_note id = find_id(object.dlfo_map_start);
  if (id.description == nullptr) return false;
  const std::uint32_t count =
      std::min(__atomic_load_n(&identities_count, __ATOMIC_ACQUIRE), identities_max);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!__atomic_load_n(&is_whole[i], __ATOMIC_ACQUIRE)) continue;
    if (identities[i].id.description != id.description || !is_same(identities[i], object)) continue;
    number = static_cast<file_number>(i + 1);
    return true;
  }
  const std::uint32_t added = __atomic_fetch_add(&identities_count, 1, __ATOMIC_ACQ_REL);
  if (added >= identities_max) {
    __atomic_store_n(&identities_count, identities_max, __ATOMIC_RELEASE);
    return false;
  }
  file_identity& identity = identities[added];
  identity = {object.dlfo_map_start, object.dlfo_map_end, object.dlfo_eh_frame, id, {}};
  std::memcpy(identity.id_copy, id.description, id.bytes);
  __atomic_store_n(&is_whole[added], true, __ATOMIC_RELEASE);
  number = static_cast<file_number>(added + 1);
  return true;
}

/// Returns: whether there is a file there.
bool find_object(std::uintptr_t address, dl_find_object& found) {
  // In a static program, whose loader has no list, this may be called while the C library prepares
  // what is asked here, and allocates for it.
  if (_r_debug.r_map == nullptr) return false;
  // Inside of the call: what it returns to may lie behind the end.
  return ::_dl_find_object(reinterpret_cast<void*>(address - 1), &found) == 0;
}

}  // namespace

void note_first_files() noexcept {
  const link_map* last = _r_debug.r_map;
  while (last != nullptr && last->l_next != nullptr) last = last->l_next;
  __atomic_store_n(&last_of_first, last, __ATOMIC_RELEASE);
}

bool find_code_file(std::uintptr_t address, code_file& found) noexcept {
  dl_find_object object{};
  if (!find_object(address, object) || object.dlfo_eh_frame == nullptr) return false;
  found.unwind_table = object.dlfo_eh_frame;
  return number_of(object, found.number);
}

bool is_still_loaded(file_number number, std::uintptr_t address) noexcept {
  dl_find_object object{};
  return find_object(address, object) && is_same(identities[number - 1], object);
}

#else

void note_first_files() noexcept {}

bool find_code_file(std::uintptr_t, code_file&) noexcept { return false; }

bool is_still_loaded(file_number, std::uintptr_t) noexcept { return false; }

#endif

}  // namespace ashlar::os
