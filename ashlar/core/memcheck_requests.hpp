// core/memcheck_requests.hpp: Valgrind's client requests, where the build asks for them
// (ASHLAR_VALGRIND).
// Layer: core (freestanding). For core/memory_tools.hpp alone.
//
// A memcheck pool for each owner, made when its first block is. It is told to be a metapool: a
// block of one may then hold blocks of another (a pool in an arena), and memcheck's search for
// leaks leaves both alone; else such a pair stops valgrind itself with an assertion at exit. Each
// request is some instructions without effect in a program that does not run under valgrind.
#pragma once

#include <cstddef>

#include <ashlar/core/config.hpp>

namespace ashlar::detail {

[[nodiscard]] bool memcheck_listens() noexcept;
void memcheck_close(const void* p, std::size_t n) noexcept;
void memcheck_open(const void* p, std::size_t n) noexcept;
void memcheck_made(const void* owner, const void* p, std::size_t size) noexcept;
void memcheck_freed(const void* owner, const void* p) noexcept;
void memcheck_resized(const void* owner, const void* p, std::size_t old_size,
                      std::size_t size) noexcept;
void memcheck_cut(const void* owner, const void* base, std::size_t kept) noexcept;
void memcheck_moved(const void* from, const void* to) noexcept;
void memcheck_ended(const void* owner) noexcept;
/// Between the two, this thread's accesses to closed bytes are not reported.
void memcheck_pause() noexcept;
void memcheck_resume() noexcept;

}  // namespace ashlar::detail

#if defined(ASHLAR_VALGRIND)
#include <valgrind/memcheck.h>  // Debian: valgrind

namespace ashlar::detail {

// Always inlined: a call that is given the address of bytes not yet written is what gcc warns of.
ASHLAR_HOT bool memcheck_listens() noexcept { return RUNNING_ON_VALGRIND != 0; }
ASHLAR_HOT void memcheck_close(const void* p, std::size_t n) noexcept {
  static_cast<void>(VALGRIND_MAKE_MEM_NOACCESS(p, n));
}
ASHLAR_HOT void memcheck_open(const void* p, std::size_t n) noexcept {
  static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(p, n));
}
ASHLAR_HOT void memcheck_made(const void* owner, const void* p, std::size_t size) noexcept {
  // Here and not in a constructor, which a constinit pool does not run.
  if (VALGRIND_MEMPOOL_EXISTS(owner) == 0)
    VALGRIND_CREATE_MEMPOOL_EXT(owner, 0, 0, VALGRIND_MEMPOOL_METAPOOL);
  VALGRIND_MEMPOOL_ALLOC(owner, p, size);
}
ASHLAR_HOT void memcheck_freed(const void* owner, const void* p) noexcept {
  // A static pool may take blocks back after it was told to have ended.
  if (VALGRIND_MEMPOOL_EXISTS(owner) != 0) VALGRIND_MEMPOOL_FREE(owner, p);
}
ASHLAR_HOT void memcheck_resized(const void* owner, const void* p, std::size_t old_size,
                                 std::size_t size) noexcept {
  VALGRIND_MEMPOOL_CHANGE(owner, p, p, size);
  if (size > old_size) {
    static_cast<void>(
        VALGRIND_MAKE_MEM_UNDEFINED(static_cast<const std::byte*>(p) + old_size, size - old_size));
  }
}
ASHLAR_HOT void memcheck_cut(const void* owner, const void* base, std::size_t kept) noexcept {
  if (VALGRIND_MEMPOOL_EXISTS(owner) != 0) VALGRIND_MEMPOOL_TRIM(owner, base, kept);
}
ASHLAR_HOT void memcheck_moved(const void* from, const void* to) noexcept {
  if (VALGRIND_MEMPOOL_EXISTS(from) != 0) VALGRIND_MOVE_MEMPOOL(from, to);
}
ASHLAR_HOT void memcheck_ended(const void* owner) noexcept {
  if (VALGRIND_MEMPOOL_EXISTS(owner) != 0) VALGRIND_DESTROY_MEMPOOL(owner);
}
ASHLAR_HOT void memcheck_pause() noexcept { VALGRIND_DISABLE_ERROR_REPORTING; }
ASHLAR_HOT void memcheck_resume() noexcept { VALGRIND_ENABLE_ERROR_REPORTING; }

}  // namespace ashlar::detail
#endif
