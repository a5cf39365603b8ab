// misuse/corpus/scene.hpp: a program in the middle of its life: blocks that it holds, and what it does after a fault.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <unistd.h>

#include "component.hpp"
#include "witness.hpp"

namespace corpus {

inline constexpr std::size_t blocks_before = 16;
inline constexpr std::size_t blocks_after = 64;

class scene {
 public:
  explicit scene(const component& of) noexcept : of_(of) {
    for (void*& b : blocks_) b = obtain();
  }

  [[nodiscard]] std::size_t size() const noexcept { return of_.block_size; }
  [[nodiscard]] void* block(std::size_t i) const noexcept { return blocks_[i]; }
  /// The block that was allocated last: what an arena can take back.
  [[nodiscard]] void* last() const noexcept { return blocks_[blocks_before - 1]; }
  [[nodiscard]] witness& live() noexcept { return live_; }

  /// Returns: a block that is now somebody's, or null.
  void* obtain() noexcept { return note(of_.allocate(size()), size()); }
  /// Effects: `p`, which is free, gets another owner, if that comes within some allocations.
  void obtain_until_live(const void* p) noexcept {
    for (std::size_t i = 0; i < blocks_after && !live_.is_live(p); ++i)
      if (obtain() == nullptr) return;
  }
  /// Effects: a block that the program got is somebody's, and given back at the end.
  void* note(void* p, std::size_t bytes) noexcept {
    if (p == nullptr) return nullptr;
    live_.acquire(p, bytes);
    if (count_ == std::size(owned_)) {
      say("broken", "too many blocks");
      ::_exit(3);
    }
    owned_[count_++] = p;
    return p;
  }
  /// Effects: the owner of `p` lets go of it, without a call.
  void disown(void* p) noexcept {
    live_.forget(p);
    for (std::size_t i = 0; i < count_; ++i) {
      if (owned_[i] != p) continue;
      std::move(owned_ + i + 1, owned_ + count_, owned_ + i);
      --count_;
      return;
    }
  }
  void give_back(void* p) noexcept {
    disown(p);
    of_.release(hidden(p));
  }

  /// Effects: the program goes on, and ends in order.
  void go_on() noexcept {
    live_.verify();
    for (std::size_t i = 0; i < blocks_after && obtain() != nullptr; ++i) live_.verify();
    // The newest first: an arena takes back no other.
    while (count_ != 0) {
      void* const p = owned_[count_ - 1];
      live_.forget(p);
      --count_;
      of_.release(p);
    }
    settle();
  }
  void settle() noexcept {
    live_.verify();
    if (of_.settle != nullptr && !of_.settle())
      live_.damage("the component's own data are not sound");
  }

 private:
  const component& of_;
  witness live_;
  void* blocks_[blocks_before];
  void* owned_[2 * (blocks_before + blocks_after)];
  std::size_t count_ = 0;
};

}  // namespace corpus
