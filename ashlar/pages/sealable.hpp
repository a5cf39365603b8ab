// pages/sealable.hpp: an address space that can be told to leave the system alone.
// Layer: pages.
#pragma once

#include <atomic>
#include <cstddef>

#include <ashlar/pages/address_space.hpp>

namespace ashlar::detail {

/// `Space`, which while it is sealed refuses whatever would be a system call: so a heap on it has
/// the paths that it has where the system refuses, and no others. Four calls come through:
/// `release` and `leave_gap`, which cannot refuse (a caller that need not release asks `is_sealed`
/// before), `resident`, which only statistics call, and `reopen`, without which closed pages would
/// be lost.
template <address_space Space>
class sealable : public Space {
 public:
  using Space::Space;
  static constexpr bool has_guards = requires(void* p, std::size_t n) { Space::guard(p, n); };

  void seal(bool on) noexcept { sealed_.store(on, std::memory_order_relaxed); }
  [[nodiscard]] bool is_sealed() const noexcept { return sealed_.load(std::memory_order_relaxed); }

  [[nodiscard]] void* reserve(std::size_t bytes) noexcept {
    return is_sealed() ? nullptr : Space::reserve(bytes);
  }
  [[nodiscard]] void* reserve_zeros(std::size_t bytes) noexcept {
    return is_sealed() ? nullptr : Space::reserve_zeros(bytes);
  }
  [[nodiscard]] void* find_gap(const void* near, std::size_t& bytes) noexcept {
    return is_sealed() ? nullptr : Space::find_gap(near, bytes);
  }
  [[nodiscard]] bool claim(void* p, std::size_t bytes) noexcept {
    return !is_sealed() && Space::claim(p, bytes);
  }
  [[nodiscard]] bool commit(void* p, std::size_t bytes) noexcept {
    return !is_sealed() && Space::commit(p, bytes);
  }
  [[nodiscard]] bool populate(void* p, std::size_t bytes) noexcept {
    return !is_sealed() && Space::populate(p, bytes);
  }
  [[nodiscard]] bool purge(void* p, std::size_t bytes) noexcept {
    return !is_sealed() && Space::purge(p, bytes);
  }
  [[nodiscard]] bool renew(void* p, std::size_t bytes) noexcept {
    return !is_sealed() && Space::renew(p, bytes);
  }
  [[nodiscard]] bool close(void* p, std::size_t bytes) noexcept {
    return !is_sealed() && Space::close(p, bytes);
  }
  /// As close, for few pages between others: without a mapping of their own, if the space has such
  /// and they are preferred.
  [[nodiscard]] bool guard(void* p, std::size_t bytes) noexcept {
    if constexpr (has_guards)
      if (prefers_guards_ && !is_sealed() && Space::guard(p, bytes)) return true;
    return close(p, bytes);
  }
  /// Effects: from now on `guard` does so or not. A fork copies each mapping. But a program that
  /// reads a mapping from outside may stop at a guarded page, as gdb does when it writes a core
  /// file.
  void prefer_guards(bool on) noexcept { prefers_guards_ = on; }
  /// As commit, for pages that were closed or guarded.
  [[nodiscard]] bool reopen(void* p, std::size_t bytes) noexcept {
    if constexpr (has_guards) Space::unguard(p, bytes);
    return Space::commit(p, bytes);
  }
  [[nodiscard]] bool move(void* from, void* to, std::size_t bytes) noexcept {
    return !is_sealed() && Space::move(from, to, bytes);
  }

 private:
  std::atomic<bool> sealed_{false};
  bool prefers_guards_ = false;
};

}  // namespace ashlar::detail
