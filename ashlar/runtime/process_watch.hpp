// runtime/process_watch.hpp: what looks at the process heap's calls.
// Layer: runtime. For the process heap's own source files.
#pragma once

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
  [[nodiscard]] static detail::new_block take(std::size_t size, std::size_t alignment,
                                              bool zeroed) noexcept;
  static void give(void* block, const char* call) noexcept;
};

/// The same, with all that looks at them.
[[nodiscard]] inline detail::watched_heap<plain_calls> watched_calls() noexcept {
  return {the_watch, plain_calls{}};
}

/// Effects: turns on what the environment asks for. Requires: no other thread yet.
void start_watch(settings s) noexcept;

/// Returns: the name by which full checks remember `call`.
[[nodiscard]] const char* alias_of(const char* call) noexcept;

}  // namespace ashlar::runtime
