// runtime/process_watch.hpp: what looks at the process heap's calls.
// Layer: runtime. For the process heap's own source files.
#pragma once

#include <atomic>
#include <cstddef>

#include <ashlar/check/watched_heap.hpp>
#include <ashlar/runtime/process_thread.hpp>
#include <ashlar/runtime/settings.hpp>

namespace ashlar::runtime {

/// The process heap's miss paths, at which nothing looks. Requires: the calling thread is inside.
struct plain_calls {
  static constexpr bool is_of_process = true;
  [[nodiscard]] static process_heap& engine() noexcept { return the_heap; }
  [[nodiscard]] static detail::guard_turn& guard_turn() noexcept { return self.turn; }
  [[nodiscard]] static void* take(std::size_t size, std::size_t alignment, bool& zeroed) noexcept;
  static void give(void* block, const char* call) noexcept;
};

/// The same, with all that looks at them.
[[nodiscard]] inline detail::watched_heap<plain_calls> watched_calls() noexcept {
  return {the_watch, plain_calls{}};
}

/// Whether no thread uses its hit paths: something looks at each call.
extern constinit std::atomic<bool> every_call_misses;
[[nodiscard]] inline bool is_plain() noexcept {
  return !every_call_misses.load(std::memory_order_relaxed);
}

/// Returns: whether nothing looks at calls for `block`, an address. A guarded block can be a sampled one.
[[nodiscard]] inline bool is_plain(const void* block) noexcept {
  return is_plain() && !the_watch.is_guarded(block);
}

/// Effects: turns on what the environment asks for. Requires: no other thread yet.
void start_watch(settings s) noexcept;

/// Returns: the name by which full checks remember `call`.
[[nodiscard]] const char* told_as(const char* call) noexcept;

}  // namespace ashlar::runtime
