// runtime/hardened_pages.cpp: closed pages of large blocks, and the random number that tells where
// the heap lies.
// Layer: runtime.
#include <atomic>
#include <cstring>

#include <ashlar/os/random_bytes.hpp>
#include <ashlar/os/system_space.hpp>
#include <ashlar/runtime/hardened_pages.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/settings.hpp>

namespace ashlar::runtime {
namespace {

constinit bool closes = false;
constinit std::atomic<std::size_t> large_blocks{0};
constinit std::atomic<std::uint64_t> refused{0};

std::byte* end_of(void* block, std::size_t bytes) noexcept {
  return static_cast<std::byte*>(block) + bytes;
}

}  // namespace

void close_pages(bool on) noexcept {
  closes = on;
  the_heap.close_behind_slabs(on ? closed_slabs_max : 0);
}

void close_behind(void* block, std::size_t bytes) noexcept {
  if (closes && !the_heap.is_sealed() &&
      large_blocks.load(std::memory_order_relaxed) <= closed_blocks_max &&
      !os::system_space::guard(end_of(block, bytes), closed_bytes) &&
      !os::system_space::close(end_of(block, bytes), closed_bytes))
    refused.fetch_add(1, std::memory_order_relaxed);
}
void close_first(void* block, std::size_t bytes) noexcept {
  large_blocks.fetch_add(1, std::memory_order_relaxed);
  close_behind(block, bytes);
}

bool open_behind(void* block, std::size_t bytes) noexcept {
  if (!closes) return true;
  os::system_space::unguard(end_of(block, bytes), closed_bytes);
  return os::system_space::commit(end_of(block, bytes), closed_bytes);
}
void end_closed_block() noexcept { large_blocks.fetch_sub(1, std::memory_order_relaxed); }

std::uint64_t closes_refused() noexcept { return refused.load(std::memory_order_relaxed); }

std::uint64_t process_space::entropy() noexcept {
  // The heap may start before the settings are read.
  bool is_wanted = is_hardened_edition || closes;
  if (char** const environment = process_environment(); !is_wanted && environment != nullptr) {
    const char* const said = find_setting(environment, "ASHLAR_HARDEN");
    is_wanted = said != nullptr && std::strcmp(said, "1") == 0;
  }
  std::uint64_t drawn = 0;
  return is_wanted && os::fill_with_random_bytes(&drawn, sizeof drawn) ? drawn : 0;
}

}  // namespace ashlar::runtime
