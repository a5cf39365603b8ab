// runtime/process_heap.hpp: the heap that all of a process shares, and each thread's cache of it.
// Layer: runtime. Its mutable globals live in this layer; tests/globals/allowed.txt lists all
// others.
//
// For the library's own sources. A face that programs include has hit_path.hpp alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/check/watched_heap.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/system_space.hpp>
#include <ashlar/runtime/hit_path.hpp>
#include <ashlar/runtime/process_classes.hpp>

namespace ashlar::runtime {

/// The system's memory. In a hardened process the heap lies where a random number tells.
struct process_space : os::system_space {
  [[nodiscard]] static std::uint64_t entropy() noexcept;
  static void choose_pages(void* p, std::size_t bytes) noexcept;
  [[nodiscard]] static std::size_t huge_page_bytes() noexcept;
  /// As os::system_space's; 0 while figures are collected that do not have it.
  [[nodiscard]] static std::size_t resident(const void* p, std::size_t bytes) noexcept;
};
/// Effects: memory that the heap takes from now on has huge pages, none, or what the system says.
void choose_huge_pages(os::huge_pages which) noexcept;

struct owner_part;  // process_thread.hpp
struct process_config {
  using space = process_space;
  using mutex = os::mutex;
  using classes = process_classes;
  using owner_part = runtime::owner_part;
};
using process_heap = basic_heap<process_config>;
static_assert(std::is_base_of_v<process_hits, process_heap>,
              "the faces' hits must be the heap's own");

/// The heap. Usable before static constructors and after static destructors.
extern process_heap the_heap;

// Each function below may be called by any thread at any time. None throws. `call` is the name that
// a fault's message gives.

/// Effects: gives this thread's cached blocks and all free pages back. Returns: bytes to the
/// system.
std::size_t trim() noexcept;

/// Effects: the next step of a scan for what can be given back, with no lock held afterwards.
/// Returns: false at the scan's end. For the background thread.
[[nodiscard]] bool reclaim_step(reclaim_progress& scan) noexcept;

/// Effects: the calling thread never has a cache: its calls take the heap's locks. Requires: it has
/// none yet.
void use_no_cache() noexcept;

/// Effects: allows or forbids the background thread (background.hpp). Returns: whether it was
/// allowed.
bool set_background(bool on) noexcept;

/// As basic_heap::prefault, for `threads` threads beside the calling one.
[[nodiscard]] bool prefault(std::size_t bytes, std::size_t threads) noexcept;

/// Effects: from now on every block is handed out filled with ~`byte`, unless it is to be zero, and
/// is filled with `byte` when it is freed: of a large block the first `small_size_max` bytes, and
/// of another all but its first word. Every call misses then. 0: blocks are left as they are.
/// Returns: false, and nothing changes, when other threads have caches, whose hit paths cannot be
/// reached, or when full checks or a memory tool look at the bytes themselves. Requires: no other
/// thread calls this.
[[nodiscard]] bool fill_blocks(unsigned char byte) noexcept;

/// What looks at the process heap's calls; off unless the environment says so.
extern constinit detail::heap_watch the_watch;

/// Returns: whether full checks know of each block who made it: ASHLAR_CHECK=full.
[[nodiscard]] inline bool has_full_checks() noexcept { return the_watch.checks.is_on(); }

/// Returns: whether calls of one name but of several forms are to be told apart (call_alias),
/// and sizes compared (expect_size): with full checks, in a hardened process, and in a test scope
/// of the calling thread, whose messages name calls.
[[nodiscard]] bool tells_forms_apart() noexcept;

/// While it lives, full checks remember this thread's calls that are named `call` as `instead`: for
/// calls that the standard makes of each other. Null, null: as what they are named.
class call_alias {
 public:
  call_alias(const char* call, const char* instead) noexcept;
  ~call_alias();
  call_alias(const call_alias&) = delete;
  call_alias& operator=(const call_alias&) = delete;

 private:
  friend const char* alias_of(const char* call) noexcept;

  const char* call_;
  const char* instead_;
  const call_alias* before_;
};

/// Returns: what `make_call` returns. Full checks remember this thread's calls in it that are named
/// `call` as `instead`.
template <class Call>
auto call_under_alias(const char* call, const char* instead, Call make_call) {
  if (!tells_forms_apart()) return make_call();
  const call_alias alias(call, instead);
  return make_call();
}

/// Effects: if forms are told apart: a fault naming `call`, wrong_size, when they know that `block`
/// came from new and was not asked for with `size`. Returns: false after a fault.
[[nodiscard]] ASHLAR_MISS bool expect_size_slow(const void* block, std::size_t size,
                                                const char* call) noexcept;
[[nodiscard]] inline bool expect_size(const void* block, std::size_t size,
                                      const char* call) noexcept {
  return !tells_forms_apart() || expect_size_slow(block, size, call);
}

/// Effects: looks at what full checks and guarded blocks can tell of all blocks; a fault naming
/// `call` for each that was written to. Returns: the live blocks that it looked at. O(their bytes).
std::size_t check_blocks(const char* call) noexcept;

/// Effects: calls visit(record) for each live block of which it is known who allocated it.
template <class Visit>
void for_each_known_block(Visit visit) noexcept {
  the_watch.checks.for_each_live(visit);
  the_watch.guards->for_each_live(visit);
}

/// Returns: whether the process heap, its reserve or its guarded blocks have memory at `address`.
/// Any value may be passed. A lock, unless the first range has a slab there.
[[nodiscard]] bool holds(const void* address) noexcept;

/// Returns: whether a live block starts at `block`, which this thread was given. Never ends in a
/// fault. Requires: the thread has a `look` (process_thread.hpp), or the address is held.
[[nodiscard]] bool is_live(const void* block) noexcept;

/// Effects: fills every field of `out`; without a `residence`, nothing is asked of the system, and
/// of what is in memory only the heap's own pages are counted.
void collect(ashlar_stats& out, bool residence = true) noexcept;

}  // namespace ashlar::runtime
