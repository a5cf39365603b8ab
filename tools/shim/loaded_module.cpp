// tools/shim/loaded_module.cpp. Layer: shim.
#include "tools/shim/loaded_module.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <dlfcn.h>
#include <link.h>

#include "tools/shim/build_id.hpp"

namespace ashlar::shim {

// Rules are written for one processor; and before 2.35 the GNU C library told of its files only under a lock.
#if defined(__x86_64__) && defined(DLFO_EH_SEGMENT_TYPE)

namespace {

constexpr std::size_t page_bytes = 4096;

struct module_identity {
  const void* begin = nullptr;
  const void* end = nullptr;
  const void* unwind_table = nullptr;
  build_id id;
  unsigned char id_copy[build_id_bytes_max] = {};
};

// That of number n is at n - 1. They are only ever added; one that a thread is just writing is not whole yet.
constexpr std::uint32_t identities_max = 1024;
constinit module_identity identities[identities_max];
constinit bool is_whole[identities_max];
constinit std::uint32_t identities_count = 0;
constinit const link_map* last_of_first = nullptr;

template <class T>
T load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Returns: none, unless it lies in the first page: that one is mapped whichever file it is, so that looking does not
/// fault.
build_id find_id(const void* begin) {
  const auto* const page = static_cast<const unsigned char*>(begin);
  const auto file = load<ElfW(Ehdr)>(page);
  if (std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_phentsize != sizeof(ElfW(Phdr)) ||
      file.e_phoff + file.e_phnum * sizeof(ElfW(Phdr)) > page_bytes)
    return {};
  for (std::size_t i = 0; i < file.e_phnum; ++i) {
    const auto segment = load<ElfW(Phdr)>(page + file.e_phoff + i * sizeof(ElfW(Phdr)));
    if (segment.p_type != PT_NOTE || segment.p_offset + segment.p_filesz > page_bytes) continue;
    const unsigned char* const notes = page + segment.p_offset;
    const build_id found = find_id_in(notes, notes + segment.p_filesz);
    if (found.at != nullptr) return found;
  }
  return {};
}

bool is_first(const link_map* map) {
  if (last_of_first == nullptr) return false;
  // What a program loads comes behind these, which stay: their links can be followed while others change theirs.
  const link_map* first = _r_debug.r_map;
  while (first != map && first != last_of_first) first = first->l_next;
  return first == map;
}

bool is_same(const module_identity& known, const dl_find_object& now) {
  return known.begin == now.dlfo_map_start && known.end == now.dlfo_map_end &&
         known.unwind_table == now.dlfo_eh_frame &&
         std::memcmp(known.id.at, known.id_copy, known.id.bytes) == 0;
}

/// Returns: false: it cannot be told from others.
bool number_of(const dl_find_object& object, module_number& number) {
  number = stays_loaded;
  if (is_first(object.dlfo_link_map)) return true;
  const build_id id = find_id(object.dlfo_map_start);
  if (id.at == nullptr) return false;
  const std::uint32_t count =
      std::min(__atomic_load_n(&identities_count, __ATOMIC_ACQUIRE), identities_max);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!__atomic_load_n(&is_whole[i], __ATOMIC_ACQUIRE)) continue;
    if (identities[i].id.at != id.at || !is_same(identities[i], object)) continue;
    number = static_cast<module_number>(i + 1);
    return true;
  }
  const std::uint32_t added = __atomic_fetch_add(&identities_count, 1, __ATOMIC_ACQ_REL);
  if (added >= identities_max) {
    __atomic_store_n(&identities_count, identities_max, __ATOMIC_RELEASE);
    return false;
  }
  module_identity& identity = identities[added];
  identity = {object.dlfo_map_start, object.dlfo_map_end, object.dlfo_eh_frame, id, {}};
  std::memcpy(identity.id_copy, id.at, id.bytes);
  __atomic_store_n(&is_whole[added], true, __ATOMIC_RELEASE);
  number = static_cast<module_number>(added + 1);
  return true;
}

/// Returns: whether there is a file there.
bool find_object(std::uintptr_t address, dl_find_object& found) {
  // Inside of the call: what it returns to may lie behind the end.
  return ::_dl_find_object(reinterpret_cast<void*>(address - 1), &found) == 0;
}

}  // namespace

void note_first_modules(bool goes_on) {
  const link_map* last = _r_debug.r_map;
  // Whatever was loaded later is behind the loader itself.
  const auto is_last = [goes_on](const link_map* map) {
    return map->l_next == nullptr || (goes_on && map->l_addr == _r_debug.r_ldbase);
  };
  while (last != nullptr && !is_last(last)) last = last->l_next;
  last_of_first = last;
}

bool find_module(std::uintptr_t address, loaded_module& found) {
  dl_find_object object{};
  if (!find_object(address, object) || object.dlfo_eh_frame == nullptr) return false;
  found.unwind_table = object.dlfo_eh_frame;
  return number_of(object, found.number);
}

bool is_still_loaded(module_number number, std::uintptr_t address) {
  dl_find_object object{};
  return find_object(address, object) && is_same(identities[number - 1], object);
}

#else

void note_first_modules(bool) {}

bool find_module(std::uintptr_t, loaded_module&) {
  return false;
}

bool is_still_loaded(module_number, std::uintptr_t) {
  return false;
}

#endif

}  // namespace ashlar::shim
