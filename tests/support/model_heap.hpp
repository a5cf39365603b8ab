// support/model_heap.hpp: a sized component that remembers what it gave and checks what comes back.
#pragma once

#include <map>
#include <tests/support/require.hpp>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/exhaustion.hpp>

namespace support {

/// On the C++ heap. `limit_bytes`: what may be in use at one time.
class model_heap {
 public:
  using exhaustion_type = ashlar::exhaustion::null;
  static constexpr bool nothrow_allocate = true;

  explicit model_heap(std::size_t limit_bytes = SIZE_MAX / 2) : limit_(limit_bytes) {}
  model_heap(const model_heap&) = delete;
  model_heap& operator=(const model_heap&) = delete;
  ~model_heap() { REQUIRE(live_.empty()); }

  void* try_allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    REQUIRE(ashlar::is_power_of_two(alignment));
    if (size > PTRDIFF_MAX || size > limit_ - used_) return nullptr;
    void* const p = ::operator new(size, std::align_val_t(alignment), std::nothrow);
    if (p == nullptr) return nullptr;
    live_.emplace(p, request{size, alignment});
    used_ += size;
    return p;
  }
  void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    return try_allocate(size, alignment);
  }
  void deallocate(void* p, std::size_t size,
                  std::size_t alignment = alignof(std::max_align_t)) noexcept {
    if (p == nullptr) return;
    const auto found = live_.find(p);
    REQUIRE(found != live_.end());
    REQUIRE(found->second.size == size && found->second.alignment == alignment);
    live_.erase(found);
    used_ -= size;
    ::operator delete(p, std::align_val_t(alignment));
  }
  [[nodiscard]] bool owns(const void* p) const noexcept {
    return live_.contains(const_cast<void*>(p));
  }
  [[nodiscard]] std::size_t live_blocks() const noexcept { return live_.size(); }

 private:
  struct request {
    std::size_t size, alignment;
  };
  std::map<void*, request> live_;
  std::size_t limit_, used_ = 0;
};

}  // namespace support
