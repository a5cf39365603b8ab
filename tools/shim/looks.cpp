// tools/shim/looks.cpp. Layer: shim.
#include "tools/shim/looks.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ashlar/os/call_filter.hpp>

#include "tools/shim/log.hpp"

namespace ashlar::shim {
namespace {

constexpr std::uint32_t first_looks = 64;  // of a stack
constexpr std::uint32_t blocks_a_look = 1024;
/// Of stacks; those with one place are counted together.
constexpr std::size_t counts_max = 4096;
constinit std::atomic<std::uint32_t> counts[counts_max]{};

// Of an entry of /proc/self/pagemap.
constexpr std::uint64_t page_has_memory = std::uint64_t{1} << 63;
constexpr std::uint64_t page_is_in_swap = std::uint64_t{1} << 62;

/// Whole pages, by their numbers.
struct page_span {
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// Returns: how many are not in memory, in swap or nowhere; 0 where the system does not tell.
std::size_t pages_not_in_memory(page_span pages, std::uintptr_t page_bytes) {
  std::size_t count = 0;
  while (pages.begin < pages.end) {
    unsigned char resident[2048];
    const std::size_t some = std::min(std::size(resident), pages.end - pages.begin);
    if (::mincore(reinterpret_cast<void*>(pages.begin * page_bytes), some * page_bytes, resident) !=
        0)
      return 0;
    count += static_cast<std::size_t>(std::count_if(
        resident, resident + some, [](unsigned char page) { return (page & 1) == 0; }));
    pages.begin += some;
  }
  return count;
}

/// Returns: how many are not in swap either; 0 where the system does not tell.
std::size_t pages_without_memory(page_span pages) {
  // Opened each time: a descriptor that stays is one that the program may close, or inherit. Not by
  // the C library's functions: those are places where a thread may be cancelled.
  const long file = ::syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::size_t count = 0;
  while (pages.begin < pages.end) {
    std::uint64_t entries[256];
    const std::size_t some = std::min(std::size(entries), pages.end - pages.begin);
    const std::size_t bytes = some * sizeof entries[0];
    const auto at = static_cast<off_t>(pages.begin * sizeof entries[0]);
    if (::syscall(SYS_pread64, file, entries, bytes, at) != static_cast<long>(bytes)) break;
    count +=
        static_cast<std::size_t>(std::count_if(entries, entries + some, [](std::uint64_t entry) {
          return (entry & (page_has_memory | page_is_in_swap)) == 0;
        }));
    pages.begin += some;
  }
  ::syscall(SYS_close, file);
  return count;
}

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
  // No addition at once: that takes as long as a record, and a count that is lost does no harm.
  std::atomic<std::uint32_t>& count = counts[stack % counts_max];
  const std::uint32_t before = count.load(std::memory_order_relaxed);
  count.store(before + 1, std::memory_order_relaxed);
  return before < first_looks || before % blocks_a_look == 0;
}

void forget_looks() {
  watched.clear();
  for (std::atomic<std::uint32_t>& count : counts)
    if (count.load(std::memory_order_relaxed) != 0) count.store(0, std::memory_order_relaxed);
}

std::uint64_t untouched_bytes(std::uintptr_t address, std::size_t bytes) {
  if (os::has_new_call_filter()) return 0;
  const int error = errno;
  const auto page_bytes = static_cast<std::uintptr_t>(::getpagesize());
  const page_span pages{(address + page_bytes - 1) / page_bytes, (address + bytes) / page_bytes};
  std::uint64_t untouched = 0;
  if (pages_not_in_memory(pages, page_bytes) * page_bytes >= bytes / 2)
    untouched = pages_without_memory(pages) * page_bytes;
  errno = error;
  return untouched;
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
