// os/system_space_wasi.cpp: os/system_space.hpp on a WebAssembly memory, which grows and never
// shrinks.
// Layer: os.
//
//   0 | program: stack, data | handed out and released ... | fresh | end of the memory
//                            __heap_base                   next    end
//
// Law: what is fresh or released is zero. Released pieces wait in a list in the order of their
// addresses, merged with their neighbours. Nothing is protected and nothing goes back to the
// system, so what would do that clears or refuses. For one thread.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/core/bits.hpp>
#include <ashlar/os/system_space.hpp>

// The linker's: where the program's stack and data end.
extern "C" unsigned char __heap_base;

namespace ashlar::os {
namespace {

constexpr std::size_t memory_page = 64 * 1024;
constexpr std::size_t piece_unit = 4096;  ///< the heap's page

/// A released piece; it stands at the piece's own begin.
struct piece {
  std::size_t bytes;
  piece* next;
};

constinit piece* released = nullptr;
constinit std::uintptr_t next = 0;
constinit std::uintptr_t end = 0;

char* end_of(piece* p) noexcept { return reinterpret_cast<char*>(p) + p->bytes; }

/// Effects: `second` becomes a part of `first`, if it begins where that ends.
void merge(piece* first, piece* second) noexcept {
  if (first == nullptr || second == nullptr || end_of(first) != reinterpret_cast<char*>(second))
    return;
  first->bytes += second->bytes;
  first->next = second->next;
  *second = {};
}

/// Effects: puts a piece of zeros on the list.
void put(void* p, std::size_t bytes) noexcept {
  piece* before = nullptr;
  piece* behind = released;
  for (; behind != nullptr && behind < p; behind = behind->next) before = behind;
  auto* const put = static_cast<piece*>(p);
  *put = {bytes, behind};
  (before != nullptr ? before->next : released) = put;
  merge(put, behind);
  merge(before, put);
}

/// Returns: zeros from the list, its first piece that is large enough; null: there is none.
void* take_released(std::size_t bytes) noexcept {
  for (piece** at = &released; *at != nullptr; at = &(*at)->next) {
    piece* const found = *at;
    if (found->bytes < bytes) continue;
    piece* rest = found->next;
    if (found->bytes > bytes) {
      rest = reinterpret_cast<piece*>(reinterpret_cast<char*>(found) + bytes);
      *rest = {found->bytes - bytes, found->next};
    }
    *at = rest;
    *found = {};
    return found;
  }
  return nullptr;
}

/// Effects: there are `bytes` of fresh memory at `next`. Returns: false when the memory cannot grow
/// so far.
bool grow(std::size_t bytes) noexcept {
  if (next == 0) {
    next = align_up(reinterpret_cast<std::uintptr_t>(&__heap_base), piece_unit);
    end = __builtin_wasm_memory_size(0) * memory_page;
  }
  if (bytes <= end - next) return true;
  const std::size_t pages = divide_up(bytes - (end - next), memory_page);
  const std::size_t before = __builtin_wasm_memory_grow(0, pages);
  if (before == SIZE_MAX) return false;
  if (before * memory_page == end) {
    end += pages * memory_page;
    return true;
  }
  // Somebody else has grown it meanwhile: a new stretch begins.
  if (end != next) put(reinterpret_cast<void*>(next), end - next);
  next = before * memory_page;
  end = next + pages * memory_page;
  return grow(bytes);
}

}  // namespace

void* system_space::reserve(std::size_t bytes) noexcept {
  if (bytes > PTRDIFF_MAX) return nullptr;
  bytes = align_up(bytes, piece_unit);
  if (void* const found = take_released(bytes); found != nullptr) return found;
  if (!grow(bytes)) return nullptr;
  void* const fresh = reinterpret_cast<void*>(next);
  next += bytes;
  return fresh;
}
void* system_space::reserve_zeros(std::size_t bytes) noexcept { return reserve(bytes); }
void system_space::release(void* p, std::size_t bytes) noexcept {
  bytes = align_up(bytes, piece_unit);
  std::memset(p, 0, bytes);
  put(p, bytes);
}

bool system_space::commit(void*, std::size_t) noexcept { return true; }
bool system_space::populate(void*, std::size_t) noexcept { return true; }
void system_space::choose_pages(void*, std::size_t, huge_pages) noexcept {}

bool system_space::purge(void* p, std::size_t bytes) noexcept {
  std::memset(p, 0, bytes);
  return true;
}
bool system_space::renew(void* p, std::size_t bytes) noexcept { return purge(p, bytes); }
bool system_space::close(void*, std::size_t) noexcept { return false; }
bool system_space::move(void*, void*, std::size_t) noexcept { return false; }

// There are no gaps: memory has no holes.
void* system_space::find_gap(const void*, std::size_t&) noexcept { return nullptr; }
bool system_space::claim(void*, std::size_t) noexcept { return false; }
void system_space::leave_gap(void*) noexcept {}

std::size_t system_space::resident(const void*, std::size_t bytes) noexcept { return bytes; }
std::size_t system_space::limit() noexcept { return SIZE_MAX; }
std::size_t system_space::physical() noexcept { return 0; }
std::size_t system_space::processors() noexcept { return 1; }
std::uint64_t system_space::now_ms() noexcept {
  return 0;  // nothing ages, since nothing goes back
}
std::uint64_t system_space::secret() noexcept { return 0; }

std::size_t resident_bytes() noexcept { return __builtin_wasm_memory_size(0) * memory_page; }

}  // namespace ashlar::os
