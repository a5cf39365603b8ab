// os/thread_end_macos.cpp: thread_end of os/process.hpp by the destructor of a thread-local object.
// Layer: os.
//
// A key of POSIX threads comes too late here: the loader frees a thread's thread-local objects by
// such keys, in the order in which they were made. Destructors of thread-local objects run before
// all of them.
#include <atomic>
#include <cstdint>
#include <utility>

#include <ashlar/os/process.hpp>

namespace ashlar::os {
namespace {

constexpr std::uint32_t keys_max = 4;
constinit void (*ended_of[keys_max])(void*) noexcept = {};
constinit std::atomic<std::uint32_t> keys{0};

struct watched_values {
  constexpr watched_values() noexcept = default;
  ~watched_values() {
    for (std::uint32_t key = 0; key < keys_max; ++key)
      if (void* const value = std::exchange(of_key[key], nullptr); value != nullptr)
        ended_of[key](value);
  }
  watched_values(const watched_values&) = delete;
  watched_values& operator=(const watched_values&) = delete;

  void* of_key[keys_max] = {};
};
constinit thread_local watched_values watched;

}  // namespace

void thread_end::start(void (*ended)(void*) noexcept) noexcept {
  const std::uint32_t key = keys.fetch_add(1, std::memory_order_relaxed);
  if (key >= keys_max) return;
  ended_of[key] = ended;
  key_ = key;
  is_valid_ = true;
}
bool thread_end::watch(void* value) noexcept {
  if (is_valid_) watched.of_key[key_] = value;
  return is_valid_;
}

}  // namespace ashlar::os
