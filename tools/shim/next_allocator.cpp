// tools/shim/next_allocator.cpp. Layer: shim.
#include "tools/shim/next_allocator.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include <unistd.h>

#include <ashlar/os/next_function.hpp>

#include "tools/shim/import_slots.hpp"

namespace ashlar::shim {
namespace {

// dlsym asks for some dozens of bytes where an earlier error is to be kept; nothing else calls meanwhile.
alignas(16) constinit char boot_buffer[16 << 10];
constinit std::atomic<std::size_t> boot_used{0};
[[gnu::tls_model("initial-exec")]] constinit thread_local bool searching = false;

constinit bool was_loaded_late = false;

void* find_next_definition(const char* name) {
  // Only a library that the process began with has a next one.
  return was_loaded_late ? definition_of(name) : os::next_function(name);
}
template <class Function>
void find(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(find_next_definition(name));
}

/// Returns: false while it is at it.
bool find_next() {
  if (__atomic_load_n(&next.malloc, __ATOMIC_ACQUIRE) != nullptr) return true;
  if (searching) return false;
  searching = true;
  next_functions found{};
  find(found.free, "free");
  find(found.calloc, "calloc");
  find(found.realloc, "realloc");
  find(found.reallocarray, "reallocarray");
  find(found.posix_memalign, "posix_memalign");
  find(found.aligned_alloc, "aligned_alloc");
  find(found.memalign, "memalign");
  find(found.valloc, "valloc");
  find(found.pvalloc, "pvalloc");
  find(found.malloc_usable_size, "malloc_usable_size");
  find(found.fork, "fork");
  find(found.malloc, "malloc");
  if (found.malloc == nullptr || found.free == nullptr || found.calloc == nullptr ||
      found.realloc == nullptr) {
    static constexpr char text[] =
        "ashlar record: the program has no malloc, free, calloc and realloc to forward to\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
    std::abort();
  }
  // Two threads may both be here: they find the same. `malloc` is what others look at.
  void* (*const last)(std::size_t) = found.malloc;
  found.malloc = nullptr;
  if (__atomic_load_n(&next.malloc, __ATOMIC_ACQUIRE) == nullptr) {
    next = found;
    __atomic_store_n(&next.malloc, last, __ATOMIC_RELEASE);
  }
  searching = false;
  return true;
}

}  // namespace

bool prepare() {
  if (!find_next()) return false;
  if (open_spool()) prepared = true;
  return true;
}

bool prepare_attached() {
  if (prepared) return true;
  was_loaded_late = true;
  prepared = find_definitions() && find_next();
  return prepared;
}

void* boot_allocate(std::size_t size, std::size_t alignment) {
  if (alignment < 16) alignment = 16;
  if (alignment > 4096 || size > sizeof boot_buffer) return nullptr;
  const std::size_t room = (size + 15) / 16 * 16 + (alignment - 16);
  const std::size_t at = boot_used.fetch_add(room, std::memory_order_relaxed);
  if (at + room > sizeof boot_buffer) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(boot_buffer + at);
  return boot_buffer + at + ((begin + alignment - 1) / alignment * alignment - begin);
}

bool is_boot_block(const void* block) {
  return static_cast<const char*>(block) >= boot_buffer &&
         static_cast<const char*>(block) < boot_buffer + sizeof boot_buffer;
}

std::size_t boot_bytes_from(const void* block) {
  return static_cast<std::size_t>(boot_buffer + sizeof boot_buffer -
                                  static_cast<const char*>(block));
}

void* find_operator(const char* mangled) { return find_next_definition(mangled); }

}  // namespace ashlar::shim
