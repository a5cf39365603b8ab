// os/small_parts_windows.cpp: what of ashlar/os takes few lines on Windows.
// Layer: os.
#include <algorithm>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/os/access_fault.hpp>
#include <ashlar/os/clock.hpp>
#include <ashlar/os/last_words.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/os/pause.hpp>
#include <ashlar/os/random_bytes.hpp>
#include <ashlar/os/signals.hpp>
#include <ashlar/os/small_file.hpp>
#include <ashlar/os/thread_fence.hpp>
#include <ashlar/os/windows.hpp>

// RtlGenRandom: of all processes, without a handle, since Windows XP.
extern "C" __declspec(dllimport) BOOLEAN NTAPI SystemFunction036(void* p, ULONG bytes);

namespace ashlar::os {

// ---- os/access_fault.hpp by a vectored exception handler.

namespace {

constinit access_watcher the_watcher = nullptr;

LONG NTAPI on_exception(EXCEPTION_POINTERS* exception) noexcept {
  const EXCEPTION_RECORD& record = *exception->ExceptionRecord;
  if (record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION && record.NumberParameters >= 2) {
    const auto how = record.ExceptionInformation[0];  // 0 read, 1 write, 8 execute
    the_watcher({.address = reinterpret_cast<const void*>(record.ExceptionInformation[1]),
                 .kind = how == 0   ? access_kind::read
                         : how == 1 ? access_kind::write
                                    : access_kind::unknown,
                 .instruction = record.ExceptionAddress});
  }
  return EXCEPTION_CONTINUE_SEARCH;
}

}  // namespace

bool watch_access_faults(access_watcher watcher) noexcept {
  the_watcher = watcher;
  constexpr ULONG first = 1;
  return ::AddVectoredExceptionHandler(first, on_exception) != nullptr;
}

// ---- os/clock.hpp by the performance counter and the system's date.

constexpr std::uint64_t ns_a_second = 1'000'000'000;

std::uint64_t steady_ns() noexcept {
  LARGE_INTEGER rate{}, now{};
  ::QueryPerformanceFrequency(&rate);
  ::QueryPerformanceCounter(&now);
  const auto a_second = static_cast<std::uint64_t>(rate.QuadPart);
  const auto ticks = static_cast<std::uint64_t>(now.QuadPart);
  return ticks / a_second * ns_a_second + ticks % a_second * ns_a_second / a_second;
}

std::uint64_t date_ns() noexcept {
  constexpr std::uint64_t from_1601_to_1970 = 11'644'473'600;  // seconds
  FILETIME t{};
  ::GetSystemTimePreciseAsFileTime(&t);
  const std::uint64_t of_100_ns = std::uint64_t{t.dwHighDateTime} << 32 | t.dwLowDateTime;
  return of_100_ns * 100 - from_1601_to_1970 * ns_a_second;
}

// ---- os/last_words.hpp by WriteFile.

namespace {

bool write_all(HANDLE file, const char* text, std::size_t size) noexcept {
  while (size != 0) {
    DWORD written = 0;
    if (::WriteFile(file, text, static_cast<DWORD>(size), &written, nullptr) == 0) return false;
    text += written;
    size -= written;
  }
  return true;
}

}  // namespace

bool write_to_stderr(const char* text, std::size_t size) noexcept {
  const error_keeper keeper;
  const HANDLE out = ::GetStdHandle(STD_ERROR_HANDLE);
  return out != nullptr && out != INVALID_HANDLE_VALUE && write_all(out, text, size);
}

int append_to_file(const char* path, const char* text, std::size_t size) noexcept {
  const error_keeper keeper;
  const HANDLE file = ::CreateFileA(path, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                    nullptr, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return errno_of(::GetLastError());
  const int error = write_all(file, text, size) ? 0 : errno_of(::GetLastError());
  ::CloseHandle(file);
  return error;
}

// ---- how os/mutex.hpp waits on Windows: a short spin, then WaitOnAddress.

namespace {
constexpr int spins = 100;  // mutex_linux.cpp tells why
}

void mutex::lock_slow() noexcept {
  for (int i = 0; i < spins; ++i) {
    if (state_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
    detail::cpu_relax();
  }
  const error_keeper keeper;
  std::uint32_t held = 2;
  while (state_.exchange(2, std::memory_order_acquire) != 0)
    ::WaitOnAddress(&state_, &held, sizeof held, INFINITE);
}

void mutex::wake_one() noexcept { ::WakeByAddressSingle(&state_); }

// ---- os/page_source.hpp by VirtualAlloc.

namespace {

constexpr std::size_t page_bytes = 4096;
/// Addresses that the system gives begin at a multiple of this.
constexpr std::size_t granularity = 64 * 1024;

void* map(void* at, std::size_t bytes) noexcept {
  return ::VirtualAlloc(at, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

/// Returns: memory at a multiple of `alignment`. No part of a mapping can go back, so addresses are
/// looked for, given back, and asked for by name. Another thread may have taken them meanwhile:
/// again.
void* map_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  if (alignment > SIZE_MAX - bytes) return nullptr;
  for (int tries = 0; tries < 16; ++tries) {
    void* const room = ::VirtualAlloc(nullptr, bytes + alignment, MEM_RESERVE, PAGE_NOACCESS);
    if (room == nullptr) return nullptr;
    const auto begin = reinterpret_cast<std::uintptr_t>(room);
    ::VirtualFree(room, 0, MEM_RELEASE);
    void* const p = map(reinterpret_cast<void*>((begin + alignment - 1) & ~(alignment - 1)), bytes);
    if (p != nullptr) return p;
  }
  return nullptr;
}

}  // namespace

void* page_source::allocate(std::size_t size_bytes, std::size_t alignment) noexcept {
  const error_keeper keeper;
  size_bytes = std::max<std::size_t>(size_bytes, 1);
  if (size_bytes > SIZE_MAX - (page_bytes - 1)) return nullptr;
  const std::size_t bytes = (size_bytes + page_bytes - 1) & ~(page_bytes - 1);
  return alignment <= granularity ? map(nullptr, bytes) : map_aligned(bytes, alignment);
}

void page_source::deallocate(void* p, std::size_t, std::size_t) noexcept {
  if (p == nullptr) return;
  const error_keeper keeper;
  ::VirtualFree(p, 0, MEM_RELEASE);
}

// ---- os/pause.hpp by Sleep: whole milliseconds, else the rest of a time slice.

void pause_us(unsigned microseconds) noexcept {
  const error_keeper keeper;
  ::Sleep(microseconds < 1000 ? 0 : microseconds / 1000);
}

// ---- os/random_bytes.hpp by the system's generator.

bool fill_with_random_bytes(void* p, std::size_t bytes) noexcept {
  const error_keeper keeper;
  return ::SystemFunction036(p, static_cast<ULONG>(bytes)) != 0;
}

// ---- os/signals.hpp where no process sends another a signal: none is known.

int signal_number(const char*) noexcept { return 0; }
bool handle_signal(int, void (*)(int)) noexcept { return false; }

// ---- reading a small file whole by ReadFile.

namespace {

file_text read_all(HANDLE file, char* buffer, std::size_t capacity) noexcept {
  file_text text;
  for (;;) {
    // One byte more than there may be tells whether there is more.
    char beyond = 0;
    const bool full = text.size == capacity;
    DWORD got = 0;
    if (::ReadFile(file, full ? &beyond : buffer + text.size,
                   full ? 1 : static_cast<DWORD>(capacity - text.size), &got, nullptr) == 0)
      return {0, "cannot be read"};
    if (got == 0) return text;
    if (full) return {0, "is too long"};
    text.size += got;
  }
}

}  // namespace

file_text read_small_file(const char* path, char* buffer, std::size_t capacity) noexcept {
  const error_keeper keeper;
  const HANDLE file = ::CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr,
                                    OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    const DWORD error = ::GetLastError();
    const DWORD attributes = ::GetFileAttributesA(path);
    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0)
      return {0, "is a folder"};
    const bool missing = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
    return {0, missing ? "is not there" : "may not be read"};
  }
  const file_text text = read_all(file, buffer, capacity);
  ::CloseHandle(file);
  return text;
}

// ---- os/thread_fence.hpp by the system's flush of all processors' buffers.

void prepare_thread_fence() noexcept {}

bool may_fence_all_threads() noexcept { return true; }

bool fence_all_threads() noexcept {
  ::FlushProcessWriteBuffers();
  return true;
}

}  // namespace ashlar::os
