// tools/shim/malloc_family.cpp: the C functions that are recorded: each forwards, then tells. Layer: shim.
//
// The time of a birth is taken after the call and that of a death before it: so a block's next birth is later than its
// death, whichever threads they are of.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <unistd.h>

#include "tools/shim/import_slots.hpp"
#include "tools/shim/log.hpp"
#include "tools/shim/next_allocator.hpp"
#include "tools/shim/process_exit.hpp"

#define ASHLAR_EXPORT [[gnu::visibility("default")]]

using namespace ashlar::shim;
using ashlar::trace::event_kind;

namespace {

template <class Call>
void* birth(event_kind kind, std::size_t size, std::size_t alignment, Call call) {
  const outer_call outer;
  void* const block = call();
  if (outer.is_recorded() && block != nullptr) put(kind, block, now(), size, alignment);
  return block;
}

void* resize(void* block, std::size_t size) {
  if (is_boot_block(block)) {
    void* const moved = malloc(size);
    if (moved != nullptr) std::memcpy(moved, block, std::min(size, boot_bytes_from(block)));
    return moved;
  }
  const outer_call outer;
  if (!outer.is_recorded()) return next.realloc(block, size);
  const std::uint64_t before = now();
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::size_t watched_bytes = block != nullptr ? watched.take(address) : 0;
  const std::uint64_t untouched = watched_bytes != 0 ? untouched_bytes(address, watched_bytes) : 0;
  void* const moved = next.realloc(block, size);
  // Null for a size of 0 says that the block is freed, otherwise that it stays.
  const bool stays = moved == nullptr && size != 0;
  if (watched_bytes != 0 && stays) watched.add(address, watched_bytes);
  if (block != nullptr && !stays) {
    // A block that grows where it is goes on: what is not touched yet may be.
    const bool grows_here = moved == block && size >= watched_bytes;
    if (watched_bytes != 0 && !grows_here) put(event_kind::untouched, block, before, untouched);
    put(moved != nullptr ? event_kind::from_realloc : event_kind::from_free, block, before, 0);
  }
  if (moved != nullptr) put(event_kind::by_realloc, moved, now(), size);
  return moved;
}

}  // namespace

// For a program that does not allocate before it forks.
[[gnu::constructor(101)]] static void begin_early() {
  // Loaded by a process that runs: ashlar_record_start() begins.
  if (!prepared && !is_interposed()) return;
  if (!ready()) return;
  wait_at_exit();
  watch_exit();
}

extern "C" {

ASHLAR_EXPORT void* malloc(std::size_t size) noexcept {
  if (!ready()) return boot_allocate(size, 16);
  return birth(event_kind::by_malloc, size, 0, [=] { return next.malloc(size); });
}
ASHLAR_EXPORT void free(void* block) noexcept {
  if (block == nullptr || is_boot_block(block) || !ready()) return;
  const outer_call outer;
  if (outer.is_recorded()) put_death(event_kind::from_free, block);
  next.free(block);
}
ASHLAR_EXPORT void* calloc(std::size_t count, std::size_t size) noexcept {
  if (!ready()) return boot_allocate(count * size, 16);  // never used before: zero
  // Where the product is too large, the next allocator returns null.
  return birth(event_kind::by_calloc, count * size, 0, [=] { return next.calloc(count, size); });
}
ASHLAR_EXPORT void* realloc(void* block, std::size_t size) noexcept {
  if (!ready()) return boot_allocate(size, 16);
  return resize(block, size);
}
ASHLAR_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, bytes);
}

ASHLAR_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  int status = ENOMEM;
  void* block = nullptr;
  if (!ready()) {
    block = boot_allocate(size, alignment);
    status = block != nullptr ? 0 : ENOMEM;
  } else {
    birth(event_kind::by_aligned, size, alignment, [&] {
      status = next.posix_memalign(&block, alignment, size);
      return status == 0 ? block : nullptr;
    });
  }
  if (status == 0) *result = block;
  return status;
}
ASHLAR_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  if (!ready()) return boot_allocate(size, alignment);
  return birth(event_kind::by_aligned, size, alignment,
               [=] { return next.aligned_alloc(alignment, size); });
}
ASHLAR_EXPORT void* memalign(std::size_t alignment, std::size_t size) noexcept {
  if (!ready()) return boot_allocate(size, alignment);
  return birth(event_kind::by_aligned, size, alignment,
               [=] { return next.memalign(alignment, size); });
}
ASHLAR_EXPORT void* valloc(std::size_t size) noexcept {
  const auto page = static_cast<std::size_t>(::getpagesize());
  if (!ready()) return boot_allocate(size, page);
  return birth(event_kind::by_aligned, size, page, [=] { return next.valloc(size); });
}
ASHLAR_EXPORT void* pvalloc(std::size_t size) noexcept {
  const auto page = static_cast<std::size_t>(::getpagesize());
  if (!ready()) return boot_allocate(size, page);
  return birth(event_kind::by_aligned, size, page, [=] { return next.pvalloc(size); });
}
ASHLAR_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
  if (block == nullptr) return 0;
  if (is_boot_block(block)) return 16;
  return ready() ? next.malloc_usable_size(block) : 0;
}

ASHLAR_EXPORT int fork() noexcept {
  if (!ready()) {
    errno = EAGAIN;
    return -1;
  }
  fork_guard guard;
  const int child = next.fork();
  guard.leave(child == 0);
  if (child > 0 && is_on()) put_other(event_kind::fork, static_cast<unsigned>(child), nullptr, 0);
  return child;
}

/// For the program, which declares it weak: a text that the trace keeps with its time.
ASHLAR_EXPORT void ashlar_record_mark(const char* text) noexcept {
  if (ready() && is_on() && text != nullptr)
    put_other(event_kind::mark, 0, text, static_cast<unsigned>(std::strlen(text)));
}

}  // extern "C"
