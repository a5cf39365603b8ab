// os/system_space_windows.cpp: os/system_space.hpp by VirtualAlloc and VirtualFree.
// Layer: os.
//
// The system promises memory when it commits it, so a commit can be refused, and each committed
// page counts although nobody has touched it. A mapping goes back whole, so there are no gaps
// (find_gap), and a large block that moves is copied.
#include <atomic>
#include <cstdint>

#include <ashlar/core/fault.hpp>
#include <ashlar/os/random_bytes.hpp>
#include <ashlar/os/system_space.hpp>
#include <ashlar/os/windows.hpp>

// After windows.hpp.
#include <psapi.h>

namespace ashlar::os {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr int refused_max = 5000;  ///< times a millisecond and more, before a purge gives up

bool commit_pages(void* p, std::size_t bytes) noexcept {
  return ::VirtualAlloc(p, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}

/// Effects: whole pages lose what they hold, and cannot be accessed until they are committed again.
bool decommit_pages(void* p, std::size_t bytes) noexcept {
  return ::VirtualFree(p, bytes, MEM_DECOMMIT) != 0;
}

}  // namespace

void* system_space::reserve(std::size_t bytes) noexcept {
  const error_keeper keeper;
  return ::VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS);
}
void* system_space::reserve_zeros(std::size_t bytes) noexcept {
  const error_keeper keeper;
  return ::VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READONLY);
}

bool system_space::commit(void* p, std::size_t bytes) noexcept {
  const error_keeper keeper;
  DWORD before = 0;
  // Pages of reserve_zeros are committed already.
  return commit_pages(p, bytes) && ::VirtualProtect(p, bytes, PAGE_READWRITE, &before) != 0;
}

bool system_space::populate(void* p, std::size_t bytes) noexcept {
  auto* const first = static_cast<unsigned char*>(p);
  // A write that changes nothing, whatever another thread writes there meanwhile.
  for (std::size_t i = 0; i < bytes; i += page_bytes) {
    const std::atomic_ref word(*reinterpret_cast<unsigned*>(first + i));
    unsigned same = word.load(std::memory_order_relaxed);
    word.compare_exchange_strong(same, same, std::memory_order_relaxed);
  }
  return true;
}

// In two steps. Should the system refuse the second one, since another process took the memory in
// between, then there is no way back: the caller would write to pages that are not there. So it is
// asked again for some seconds, and then the process ends with a message.
void system_space::choose_pages(void*, std::size_t, huge_pages) noexcept {}

bool system_space::purge(void* p, std::size_t bytes) noexcept {
  const error_keeper keeper;
  if (!decommit_pages(p, bytes)) return false;
  for (int refused = 0; !commit_pages(p, bytes); ++refused) {
    if (refused == refused_max)
      ashlar_fault({.kind = fault_kind::exhausted, .call = "purge", .address = p, .needed = bytes});
    ::Sleep(1);
  }
  return true;
}

bool system_space::renew(void* p, std::size_t bytes) noexcept { return purge(p, bytes); }

bool system_space::close(void* p, std::size_t bytes) noexcept {
  const error_keeper keeper;
  return decommit_pages(p, bytes);
}

bool system_space::guard(void*, std::size_t) noexcept { return false; }
void system_space::unguard(void*, std::size_t) noexcept {}
bool system_space::move(void*, void*, std::size_t) noexcept { return false; }

void system_space::release(void* p, std::size_t) noexcept {
  const error_keeper keeper;
  ::VirtualFree(p, 0, MEM_RELEASE);
}

void* system_space::find_gap(const void*, std::size_t&) noexcept { return nullptr; }
bool system_space::claim(void*, std::size_t) noexcept { return false; }
void system_space::leave_gap(void*) noexcept {}

std::size_t system_space::resident(const void* p, std::size_t bytes) noexcept {
  const error_keeper keeper;
  std::size_t found = 0;
  for (std::size_t i = 0; i < bytes; i += page_bytes) {
    PSAPI_WORKING_SET_EX_INFORMATION page{};
    page.VirtualAddress = const_cast<char*>(static_cast<const char*>(p)) + i;
    if (::K32QueryWorkingSetEx(::GetCurrentProcess(), &page, sizeof page) == 0) return 0;
    found += page.VirtualAttributes.Valid != 0 ? page_bytes : 0;
  }
  return found;
}

std::size_t system_space::limit() noexcept { return SIZE_MAX; }

std::size_t system_space::physical() noexcept {
  const error_keeper keeper;
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  return ::GlobalMemoryStatusEx(&status) == 0 ? 0 : static_cast<std::size_t>(status.ullTotalPhys);
}

std::size_t system_space::processors() noexcept {
  const DWORD count = ::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return count == 0 ? 1 : count;
}

std::uint64_t system_space::secret() noexcept {
  std::uint64_t drawn = 0;
  return fill_with_random_bytes(&drawn, sizeof drawn) ? drawn : 0;
}

std::uint64_t system_space::now_ms() noexcept { return ::GetTickCount64(); }

std::size_t resident_bytes() noexcept {
  const error_keeper keeper;
  PROCESS_MEMORY_COUNTERS counters{};
  return ::K32GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof counters) == 0
             ? 0
             : counters.WorkingSetSize;
}

}  // namespace ashlar::os
