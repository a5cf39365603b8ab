// tools/trace/temporaries.hpp: blocks that die at once. Layer: trace.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "tools/trace/lifetimes.hpp"

namespace ashlar::trace {

/// Finds temporaries. A temporary is a block that its thread frees by the very next call after the one that allocated
/// it: no other allocation, free or realloc of that thread is between the two. What realloc moves is none, because its
/// contents live on.
class temporary_finder {
 public:
  /// Effects: takes note of the step. Returns: whether it ends a temporary. Requires: sees every step.
  bool ends_one(const step& s) {
    if (s.happened == step::what::other) return false;  // no call of the allocator
    std::uint32_t& newest = newest_of(s.thread);
    const bool is_newest = s.happened == step::what::death && newest == s.slot &&
                           s.born_by == s.thread && is_free(s.kind);
    newest = s.happened == step::what::birth ? s.slot : no_slot;
    return is_newest;
  }

 private:
  static bool is_free(event_kind kind) {
    return is_death(kind) && kind != event_kind::from_realloc;
  }
  std::uint32_t& newest_of(std::uint32_t thread) {
    if (last_ == nullptr || thread != last_thread_) {
      last_ = &newest_.try_emplace(thread, no_slot).first->second;
      last_thread_ = thread;
    }
    return *last_;
  }

  std::unordered_map<std::uint32_t, std::uint32_t>
      newest_;                     // by thread: the slot that its last call gave out
  std::uint32_t* last_ = nullptr;  // of last_thread_
  std::uint32_t last_thread_ = 0;
};

}  // namespace ashlar::trace
