// bench/workloads/ring.hpp: addresses on their way from one thread to one other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "threads.hpp"

namespace bench {

// One writer, one reader, bounded. Each side remembers the other's index and looks again only when
// the ring seems full or empty, so that the shared lines move once for many blocks.
class ring {
 public:
  void push(void* block) {
    if (head_ - tail_seen_ == slots_.size())
      wait_until([&] {
        return head_ - (tail_seen_ = tail_.load(std::memory_order_acquire)) < slots_.size();
      });
    slots_[head_++ % slots_.size()] = block;
    if (head_ % publish_each == 0) publish();
  }
  void publish() { head_shared_.store(head_, std::memory_order_release); }
  void* pop() {
    if (tail_local_ == head_seen_) {
      tail_.store(tail_local_, std::memory_order_release);
      wait_until([&] {
        return (head_seen_ = head_shared_.load(std::memory_order_acquire)) != tail_local_;
      });
    }
    return slots_[tail_local_++ % slots_.size()];
  }

 private:
  static constexpr std::size_t publish_each = 16;
  alignas(64) std::size_t head_ = 0;
  std::size_t tail_seen_ = 0;
  alignas(64) std::atomic<std::size_t> head_shared_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::size_t tail_local_ = 0;
  std::size_t head_seen_ = 0;
  alignas(64) std::array<void*, 1024> slots_{};
};

}  // namespace bench
