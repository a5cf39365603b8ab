// os/system_space_posix.cpp: what of os/system_space.hpp is page_calls and what all systems have
// beside them.
// Layer: os.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>

#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/errno_keeper.hpp>
#include <ashlar/os/page_calls.hpp>
#include <ashlar/os/random_bytes.hpp>
#include <ashlar/os/read_clock.hpp>
#include <ashlar/os/system_space.hpp>

namespace ashlar::os {
namespace {

void* map(std::size_t bytes, int protection) noexcept {
  const errno_keeper keeper;
  void* p = page_calls::map(nullptr, bytes, protection, 0);
  return p == MAP_FAILED ? nullptr : p;
}

using page_calls::page_bytes;

#if defined(__linux__)
using page_residence = unsigned char;  // as mincore tells it
#else
using page_residence = char;
#endif

// A clock that is read without asking the machine's: milliseconds are enough.
#if defined(CLOCK_MONOTONIC_COARSE)
constexpr clockid_t coarse_clock = CLOCK_MONOTONIC_COARSE;
#elif defined(CLOCK_MONOTONIC_RAW_APPROX)
constexpr clockid_t coarse_clock = CLOCK_MONOTONIC_RAW_APPROX;
#else
constexpr clockid_t coarse_clock = CLOCK_MONOTONIC_FAST;
#endif

#ifdef MAP_FIXED_NOREPLACE
constexpr int only_there = MAP_FIXED_NOREPLACE;
#else
constexpr int only_there = 0;
#endif

enum class map_result { done, taken, refused };

/// Effects: maps exactly [p, p + bytes), if nobody has a part of it. A system that does not know
/// the flag takes the address as a wish and maps elsewhere; that is undone.
map_result map_at(void* p, std::size_t bytes, int protection, int how) noexcept {
  void* const got = page_calls::map(p, bytes, protection, how);
  if (got == p) return map_result::done;
  if (got == MAP_FAILED) return errno == EEXIST ? map_result::taken : map_result::refused;
  page_calls::unmap(got, bytes);
  return map_result::taken;
}

// Where gaps are. The system maps downwards from the top of the addresses that it chooses from (or
// upwards from their bottom), so far below what it chose last there is nothing. That part is cut
// into slots of one size, the same for every copy of the library in a process. Whoever maps the
// first page of a slot has its gap.
constexpr std::uint64_t slot_bytes_min = std::uint64_t{1} << 30;
constexpr std::uint64_t slot_bytes_usual = std::uint64_t{32} << 30;

/// Returns: the size of a slot where the system's own mappings are at `near`: 512 GiB where there
/// are 47 bits of addresses. 0: there are so few addresses that there are no gaps.
std::size_t slot_bytes_at(std::uintptr_t near) noexcept {
  if (sizeof(void*) < 8) return 0;
  const std::uint64_t all = std::bit_floor(near);
  const std::uint64_t bytes = std::max(all / 128, std::min(slot_bytes_usual, all / 8));
  return bytes < slot_bytes_min ? 0 : static_cast<std::size_t>(bytes);
}

}  // namespace

// Not writable, so that the system charges nothing for it, whatever its overcommit policy is.
void* system_space::reserve(std::size_t bytes) noexcept { return map(bytes, PROT_NONE); }
void* system_space::reserve_zeros(std::size_t bytes) noexcept { return map(bytes, PROT_READ); }

bool system_space::commit(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  // What was never used may be mapped anew as well. A sandbox may deny mprotect, or end a process
  // for it, which the C library's malloc need not call. ENOMEM is the system's own answer.
  if (is_in_sandbox()) return renew(p, bytes);
  if (page_calls::protect(p, bytes, PROT_READ | PROT_WRITE) == 0) return true;
  return errno != ENOMEM && renew(p, bytes);
}

bool system_space::populate(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
#ifdef MADV_POPULATE_WRITE
  if (!is_in_sandbox()) {
    if (page_calls::advise(p, bytes, MADV_POPULATE_WRITE) == 0) return true;
    if (errno != EINVAL) return false;  // else the system is older than the flag
  }
#endif
  const std::size_t page = page_bytes();
  auto* const first = static_cast<unsigned char*>(p);
  // A write that changes nothing, whatever another thread writes there meanwhile. Of a word: not
  // every processor has an instruction for a byte. Not fetch_or(0), which clang makes a load.
  for (std::size_t i = 0; i < bytes; i += page) {
    const std::atomic_ref word(*reinterpret_cast<unsigned*>(first + i));
    unsigned same = word.load(std::memory_order_relaxed);
    word.compare_exchange_strong(same, same, std::memory_order_relaxed);
  }
  return true;
}

bool system_space::renew(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  return page_calls::map(p, bytes, PROT_READ | PROT_WRITE, MAP_FIXED) != MAP_FAILED;
}

// A mapping in place of the old one: it leaves no page table entry, and is one with its neighbours
// again, of which a process may have no more than some 65,000.
bool system_space::close(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  return page_calls::map(p, bytes, PROT_NONE, MAP_FIXED) != MAP_FAILED;
}

void system_space::release(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  page_calls::unmap(p, bytes);
}

void* system_space::find_gap(const void* near, std::size_t& bytes) noexcept {
  const errno_keeper keeper;
  const auto from = reinterpret_cast<std::uintptr_t>(near);
  const std::size_t slot = slot_bytes_at(from);
  if (slot == 0) return nullptr;
  const std::size_t page = page_bytes();
  bytes = std::min(bytes, slot - page);
  // No lower than this: a program's own code lies at two thirds of all addresses, or at their
  // bottom.
  const std::uintptr_t lowest = from - from / 4;
  for (std::uintptr_t at = (from & ~(slot - 1)) - slot; at >= lowest; at -= slot) {
    auto* const first_page = reinterpret_cast<char*>(at);
    // A wish: a sanitizer that has other plans with an address would turn a demand into one for
    // address 0.
    switch (map_at(first_page, page, PROT_NONE, 0)) {
      case map_result::done:
        return first_page + page;
      case map_result::refused:
        return nullptr;
      case map_result::taken:
        break;
    }
  }
  return nullptr;
}

bool system_space::claim(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  return map_at(p, bytes, PROT_READ | PROT_WRITE, only_there) == map_result::done;
}

void system_space::leave_gap(void* p) noexcept {
  const std::size_t page = page_bytes();
  release(static_cast<char*>(p) - page, page);
}

std::size_t system_space::resident(const void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  const std::size_t page = page_bytes();
  page_residence present[256];
  std::size_t pages = 0;
  auto* const begin = const_cast<char*>(static_cast<const char*>(p));
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t part = std::min(bytes - done, sizeof present * page);
    if (::mincore(begin + done, part, present) != 0) return 0;
    pages += static_cast<std::size_t>(std::count_if(present, present + part / page,
                                                    [](page_residence c) { return (c & 1) != 0; }));
    done += part;
  }
  return pages * page;
}

std::uint64_t system_space::secret() noexcept {
  std::uint64_t drawn = 0;
  return fill_with_random_bytes(&drawn, sizeof drawn) ? drawn : 0;
}

std::uint64_t system_space::now_ms() noexcept {
  timespec now{};
  read_clock(coarse_clock, now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

}  // namespace ashlar::os
