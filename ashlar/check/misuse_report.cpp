// check/misuse_report.cpp: check/misuse_report.hpp, without memory of the heap.
// Layer: check.
#include <algorithm>
#include <cstring>

#include <ashlar/check/misuse_report.hpp>
#include <ashlar/os/loaded_module.hpp>

namespace ashlar::detail {
namespace {

enum class call_family : std::uint8_t { any, c, cxx, cxx_array };
call_family family_of(const char* call) noexcept {
  for (const char* name : {"malloc", "calloc", "realloc", "reallocarray", "posix_memalign",
                           "aligned_alloc", "memalign", "valloc", "pvalloc", "free"})
    if (std::strcmp(call, name) == 0) return call_family::c;
  for (const char* name : {"operator new", "operator delete"})
    if (std::strcmp(call, name) == 0) return call_family::cxx;
  for (const char* name : {"operator new[]", "operator delete[]"})
    if (std::strcmp(call, name) == 0) return call_family::cxx_array;
  return call_family::any;
}

/// Returns: how many of `bytes` bytes are an end that is filled: all of them, or one of two ends.
std::size_t end_of(std::size_t bytes) noexcept {
  return bytes <= 2 * filled_end_bytes ? bytes : filled_end_bytes;
}

/// Returns: the first byte at the ends of [from, to) that is not `value`; `to` when all are.
const std::byte* first_changed(const std::byte* from, const std::byte* to,
                               std::uint8_t value) noexcept {
  const auto differs = [value](std::byte b) { return b != std::byte{value}; };
  const std::size_t end = end_of(static_cast<std::size_t>(to - from));
  const std::byte* const found = std::find_if(from, from + end, differs);
  return found != from + end ? found : std::find_if(to - end, to, differs);
}

}  // namespace

void fill_ends(std::byte* begin, std::size_t bytes, std::uint8_t value) noexcept {
  const std::size_t end = end_of(bytes);
  std::memset(begin, value, end);
  if (end != bytes) std::memset(begin + (bytes - end), value, end);
}

spoilt find_spoilt(const block_record& block, bool is_filled) noexcept {
  const auto* const begin = static_cast<const std::byte*>(block.block);
  const std::byte* const behind = block.address + block.size;
  const std::byte* const end = begin + block.block_bytes;
  const std::byte* const at = block.address;
  if (const std::byte* const p = first_changed(behind, end, guard_fill); p != end)
    return {fault_kind::overflow, p};
  if (const std::byte* const p = first_changed(begin, at, guard_fill); p != at)
    return {fault_kind::underflow, p};
  if (!is_filled) return {};
  if (const std::byte* const p = first_changed(at, behind, freed_fill); p != behind)
    return {fault_kind::use_after_free, p};
  return {};
}

bool are_of_one_family(const char* made_by, const char* freed_by) noexcept {
  const call_family a = family_of(made_by), b = family_of(freed_by);
  return a == call_family::any || b == call_family::any || a == b;
}

families families_here(const char* made_by, const char* freed_by) noexcept {
  const bool of_c = family_of(made_by) == call_family::c || family_of(freed_by) == call_family::c;
  return of_c && os::has_foreign_operators() ? families::not_told_apart : families::told_apart;
}

bool is_of_cxx(const char* call) noexcept {
  const call_family f = family_of(call);
  return f == call_family::cxx || f == call_family::cxx_array;
}

deed deed_now(const char* call, unsigned stack_depth) noexcept {
  deed d{.call = call, .thread = os::thread_number(), .at = {}};
  os::capture(d.at, stack_depth);
  return d;
}

fault_history history_of(const block_record& block, const char* how, const deed& found) noexcept {
  return {.block = block.address,
          .size = block.size,
          .how = how,
          .found = &found,
          .made = block.made.call != nullptr ? &block.made : nullptr,
          .freed = block.freed.call != nullptr ? &block.freed : nullptr};
}

}  // namespace ashlar::detail
