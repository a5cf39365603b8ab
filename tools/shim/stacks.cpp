// tools/shim/stacks.cpp. Layer: shim.
#include "tools/shim/stacks.hpp"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <unwind.h>

#include <ashlar/os/frame_walk.hpp>
#include <ashlar/os/own_code.hpp>

namespace ashlar::shim {

namespace {

struct unwinding {
  call_frames* out;
  std::uint32_t depth;
};

_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* argument) {
  const unwinding& u = *static_cast<unwinding*>(argument);
  const auto* const address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
  if (address == nullptr) return _URC_END_OF_STACK;
  if (u.out->depth == 0 && os::is_own_code(address)) return _URC_NO_REASON;
  if (u.out->depth == u.depth) {
    u.out->is_cut = true;
    return _URC_END_OF_STACK;
  }
  u.out->frames[u.out->depth++] = address;
  return _URC_NO_REASON;
}

}  // namespace

void unwind_frames(call_frames& out, std::uint32_t depth) {
  out.depth = 0;
  out.is_cut = false;
  unwinding u{&out, std::min(depth, stack_depth_max)};
  _Unwind_Backtrace(&take_frame, &u);
}

void find_frames(call_frames& out, std::uint32_t depth) {
  const os::walk_result walked = os::walk_frames(out.frames, std::min(depth, stack_depth_max));
  if (walked.end == os::walk_end::unknown) return unwind_frames(out, depth);
  out.depth = walked.depth;
  out.is_cut = walked.end == os::walk_end::full;
}

namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

}  // namespace

void stack_table::reset() {
  // Locked pages stay, and so do parts of pages that are longer.
  if (last_number_ != 0 && ::madvise(entries_, sizeof entries_, MADV_DONTNEED) != 0)
    std::memset(static_cast<void*>(entries_), 0, sizeof entries_);
  last_number_ = 0;
}

stack_table::entry stack_table::find_or_add(const call_frames& frames) {
  std::uint64_t hash = frames.depth;
  for (std::uint32_t i = 0; i < frames.depth; ++i)
    hash = mixed(hash, reinterpret_cast<std::uintptr_t>(frames.frames[i]));
  constexpr std::uint64_t hash_mask = (std::uint64_t{1} << hash_bits) - 1;
  const auto number_in = [](std::uint64_t of_place) {
    return static_cast<std::uint32_t>(of_place >> hash_bits);
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

void defined_files::reset() {
  for (std::uint64_t& hash : hashes_) __atomic_store_n(&hash, 0, __ATOMIC_RELAXED);
}

bool defined_files::add(const os::code_segment& file) {
  std::uint64_t hash = mixed(mixed(file.begin, file.end), file.bias);
  for (std::size_t i = 0; i < file.build_id_bytes; ++i) hash = mixed(hash, file.build_id[i]);
  for (const char* c = file.path; *c != '\0'; ++c)
    hash = mixed(hash, static_cast<unsigned char>(*c));
  if (hash == 0) hash = 1;
  auto place = static_cast<std::uint32_t>(hash >> 52);
  for (std::uint32_t tries = 0; tries < places; ++tries, place = (place + 1) % places) {
    std::uint64_t found = 0;
    if (__atomic_compare_exchange_n(&hashes_[place], &found, hash, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return true;
    if (found == hash) return false;
  }
  return true;
}

void defined_files::for_new(const call_frames& frames, user use, void* context) {
  struct look {
    defined_files& known;
    user use;
    void* context;
    std::uintptr_t begin = 0, end = 0;  // of the last one
  } last{*this, use, context};
  const auto look_at = [&last](const void* address) {
    os::for_code_segment_at(
        address,
        [](const os::code_segment& file, void* argument) {
          look& l = *static_cast<look*>(argument);
          l.begin = file.begin;
          l.end = file.end;
          if (l.known.add(file)) l.use(file, l.context);
        },
        &last);
  };
  look_at(os::code_of_program());
  for (std::uint32_t i = 0; i < frames.depth; ++i) {
    // Inside of the call: what it returns to may lie behind the end.
    const std::uintptr_t call = reinterpret_cast<std::uintptr_t>(frames.frames[i]) - 1;
    if (call < last.begin || call >= last.end) look_at(reinterpret_cast<const void*>(call));
  }
}

}  // namespace ashlar::shim
