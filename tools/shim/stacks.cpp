// tools/shim/stacks.cpp. Layer: shim.
#include "tools/shim/stacks.hpp"

#include <cstring>

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ashlar::shim {
namespace {

struct module_walk {
  module_user use;
  void* context;
};

/// Returns: whether a segment lies in one that is mapped for reading.
bool is_mapped(const dl_phdr_info& info, const ElfW(Phdr) & part) {
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& loaded = info.dlpi_phdr[i];
    if (loaded.p_type == PT_LOAD && (loaded.p_flags & PF_R) != 0 &&
        loaded.p_vaddr <= part.p_vaddr &&
        part.p_vaddr + part.p_filesz <= loaded.p_vaddr + loaded.p_filesz)
      return true;
  }
  return false;
}

int visit_module(dl_phdr_info* info, std::size_t, void* argument) {
  const module_walk& w = *static_cast<const module_walk*>(argument);
  char own[4096];
  const char* path = info->dlpi_name;
  std::size_t length = std::strlen(path);
  if (length == 0) {  // the program itself
    const ssize_t got = ::readlink("/proc/self/exe", own, sizeof own);
    path = own;
    length = got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  build_id id;
  for (unsigned i = 0; i < info->dlpi_phnum && id.at == nullptr; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE || !is_mapped(*info, segment)) continue;
    const auto* const notes =
        reinterpret_cast<const unsigned char*>(info->dlpi_addr + segment.p_vaddr);
    id = find_id_in(notes, notes + segment.p_filesz);
  }
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    w.use({begin, begin + segment.p_memsz, info->dlpi_addr, id, path, length}, w.context);
  }
  return 0;
}

int count_changes(dl_phdr_info* info, std::size_t, void* argument) {
  *static_cast<std::uint64_t*>(argument) = info->dlpi_adds + info->dlpi_subs;
  return 1;
}

}  // namespace

bool stack_table::reset() {
  constexpr std::size_t bytes = places * sizeof(std::uint64_t);
  last_number_ = 0;
  if (entries_ != nullptr) return ::madvise(entries_, bytes, MADV_DONTNEED) == 0;
  void* const room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  entries_ = static_cast<std::uint64_t*>(room);
  return true;
}

stack_table::entry stack_table::find_or_add(const call_frames& frames) {
  std::uint64_t hash = frames.depth;
  for (std::uint32_t i = 0; i < frames.depth; ++i) {
    hash = (hash ^ frames.frames[i]) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  constexpr std::uint64_t hash_mask = (std::uint64_t{1} << hash_bits) - 1;
  const auto number_in = [](std::uint64_t entry) {
    return static_cast<std::uint32_t>(entry >> hash_bits);
  };
  std::uint32_t place = static_cast<std::uint32_t>(hash >> hash_bits);
  std::uint32_t number = 0;
  for (std::uint32_t tries = 0; tries < 64; ++tries, place = (place + 1) % places) {
    std::uint64_t found = __atomic_load_n(&entries_[place], __ATOMIC_RELAXED);
    if (found == 0) {
      if (number == 0) number = __atomic_add_fetch(&last_number_, 1, __ATOMIC_RELAXED);
      if (number >= places) return {0, false};
      const std::uint64_t added = std::uint64_t{number} << hash_bits | (hash & hash_mask);
      if (__atomic_compare_exchange_n(&entries_[place], &found, added, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED))
        return {number, true};
    }
    if (((found ^ hash) & hash_mask) == 0) return {number_in(found), false};
  }
  return {0, false};
}

void for_modules_since(std::uint64_t& known, module_user use, void* context) {
  std::uint64_t changes = 0;
  ::dl_iterate_phdr(&count_changes, &changes);
  if (changes == known) return;
  module_walk w{use, context};
  ::dl_iterate_phdr(&visit_module, &w);
  known = changes;
}

}  // namespace ashlar::shim
