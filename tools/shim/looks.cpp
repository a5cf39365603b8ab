// tools/shim/looks.cpp. Layer: shim.
#include "tools/shim/looks.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/shim/log.hpp"

namespace ashlar::shim {
namespace {

/// So many blocks of a stack are looked at; behind them one in so many.
constexpr std::uint32_t looks_of_stack = 64;
/// Of stacks; those with one place are counted together.
constexpr std::size_t counts_max = 4096;
constinit std::atomic<std::uint32_t> counts[counts_max]{};

// Of an entry of /proc/self/pagemap.
constexpr std::uint64_t page_has_memory = std::uint64_t{1} << 63;
constexpr std::uint64_t page_is_in_swap = std::uint64_t{1} << 62;

}  // namespace

void watched_blocks::add(std::uintptr_t address, std::size_t bytes) {
  place& at = places_[place_of(address)];
  std::uintptr_t found = at.address.load(std::memory_order_relaxed);
  // The same address is a block whose end nobody told.
  if ((found != 0 && found != address) ||
      !at.address.compare_exchange_strong(found, busy, std::memory_order_acq_rel))
    return;
  at.bytes.store(bytes, std::memory_order_release);
  at.address.store(address, std::memory_order_release);
}

std::size_t watched_blocks::take(std::uintptr_t address) {
  place& at = places_[place_of(address)];
  std::uintptr_t expected = address;
  if (at.address.load(std::memory_order_acquire) != address) return 0;
  const std::size_t bytes = at.bytes.load(std::memory_order_acquire);
  return at.address.compare_exchange_strong(expected, 0, std::memory_order_acq_rel) ? bytes : 0;
}

void watched_blocks::clear() {
  for (place& each : places_)
    if (each.address.load(std::memory_order_relaxed) != 0)
      each.address.store(0, std::memory_order_relaxed);
}

bool is_one_to_look_at(std::uint32_t stack) {
  const std::uint32_t before = counts[stack % counts_max].fetch_add(1, std::memory_order_relaxed);
  return before < looks_of_stack || before % looks_of_stack == 0;
}

void forget_looks() {
  watched.clear();
  for (std::atomic<std::uint32_t>& count : counts)
    if (count.load(std::memory_order_relaxed) != 0) count.store(0, std::memory_order_relaxed);
}

std::uint64_t untouched_bytes(std::uintptr_t address, std::size_t bytes) {
  const int error = errno;
  const auto page_bytes = static_cast<std::uintptr_t>(::getpagesize());
  std::uintptr_t page = (address + page_bytes - 1) / page_bytes;
  const std::uintptr_t end = (address + bytes) / page_bytes;
  // Opened each time: a descriptor that stays is one that the program may close, or inherit. Not by
  // the C library's functions: those are places where a thread may be cancelled.
  const long file = ::syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  std::uint64_t untouched = 0;
  while (file >= 0 && page < end) {
    std::uint64_t entries[256];
    const std::size_t count = std::min<std::size_t>(std::size(entries), end - page);
    const long got = ::syscall(SYS_pread64, file, entries, count * sizeof entries[0],
                               static_cast<off_t>(page * sizeof entries[0]));
    if (got != static_cast<long>(count * sizeof entries[0])) break;
    untouched +=
        static_cast<std::uint64_t>(std::count_if(entries, entries + count, [](std::uint64_t entry) {
          return (entry & (page_has_memory | page_is_in_swap)) == 0;
        }));
    page += count;
  }
  if (file >= 0) ::syscall(SYS_close, file);
  errno = error;
  return untouched * page_bytes;
}

void put_untouched(std::uintptr_t address) {
  const std::size_t bytes = watched.take(address);
  if (bytes == 0) return;
  const std::uint64_t untouched = untouched_bytes(address, bytes);
  // The time behind the look: where another thread freed the block meanwhile, the note comes behind
  // its death.
  put(trace::event_kind::untouched, reinterpret_cast<const void*>(address), now(), untouched);
}

void put_untouched_of_living() {
  if (!is_on() || the_spool->stack_depth == 0) return;
  watched.for_each([](std::uintptr_t address) { put_untouched(address); });
}

}  // namespace ashlar::shim
