// instance/heap_space.hpp: where a heap instance's memory comes from, the system or a page source.
// Layer: instance.
//
//                 blocks                                    tables, caches, stashes
//   the system    addresses claimed as needed, backed       as the blocks; caches and stashes are
//                 when used                                 reserved at once
//   a source      pieces, taken as needed, kept until       reserved addresses, backed as needed: a
//                 empty; never more than the budget         source has nothing of the kind
//
// So one heap engine serves every source, and what a caller writes past a block of a source's
// memory does not reach the heap's own data there either. Models heap's address_space concept with
// one difference: pages of a source are not zero when they are fresh, nor after a purge. The heap
// instance never says that they are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/lock_order.hpp>
#include <ashlar/instance/heap_body.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/os/system_space.hpp>

namespace ashlar::runtime {

class heap_space {
 public:
  /// Bounds of the ranges: small heaps are many, and a source's pieces need not be of 1 MiB.
  static constexpr std::uint32_t ranges_max = 32;
  static constexpr std::size_t range_bytes_min = 64 * 1024;

  /// Requires: called before everything else. `budget_bytes` bounds what is taken from a source.
  void place(const any_source& source, std::size_t budget_bytes) noexcept {
    source_ = source;
    set_budget(budget_bytes);
  }
  /// Effects: another budget, at any time.
  void set_budget(std::size_t bytes) noexcept {
    budget_bytes_.store(bytes, std::memory_order_relaxed);
  }

  [[nodiscard]] bool has_source() const noexcept { return source_.allocate != nullptr; }
  /// Bytes that the source has handed out, now, at most, and ever taken back.
  [[nodiscard]] std::size_t taken_bytes() const noexcept { return taken_.load(); }
  [[nodiscard]] std::size_t taken_bytes_peak() const noexcept { return taken_peak_.load(); }
  [[nodiscard]] std::uint64_t returned_bytes() const noexcept { return returned_.load(); }

  // ---- the concept; reserve and release of block memory are called under the heap's page lock ---

  [[nodiscard]] void* reserve(std::size_t bytes) noexcept;
  [[nodiscard]] static void* reserve_zeros(std::size_t bytes) noexcept {
    return os::system_space::reserve_zeros(bytes);
  }
  [[nodiscard]] bool commit(void* p, std::size_t bytes) noexcept {
    return is_piece(p) || os::system_space::commit(p, bytes);
  }
  [[nodiscard]] static bool populate(void* p, std::size_t bytes) noexcept {
    return os::system_space::populate(p, bytes);
  }
  // These four are asked for block memory only.
  [[nodiscard]] bool purge(void* p, std::size_t bytes) noexcept {
    return has_source() || os::system_space::purge(p, bytes);
  }
  [[nodiscard]] bool renew(void* p, std::size_t bytes) noexcept {
    return has_source() || os::system_space::renew(p, bytes);
  }
  [[nodiscard]] bool close(void* p, std::size_t bytes) noexcept {
    return !has_source() && os::system_space::close(p, bytes);
  }
  [[nodiscard]] bool move(void* from, void* to, std::size_t bytes) noexcept {
    return !has_source() && os::system_space::move(from, to, bytes);
  }
  void release(void* p, std::size_t bytes) noexcept;
  // A source's pieces come whole.
  [[nodiscard]] void* find_gap(const void* near, std::size_t& bytes) const noexcept {
    return has_source() ? nullptr : os::system_space::find_gap(near, bytes);
  }
  [[nodiscard]] static bool claim(void* p, std::size_t bytes) noexcept {
    return os::system_space::claim(p, bytes);
  }
  static void leave_gap(void* p) noexcept { os::system_space::leave_gap(p); }
  [[nodiscard]] static std::size_t resident(const void* p, std::size_t bytes) noexcept {
    return os::system_space::resident(p, bytes);
  }
  /// The first range takes a quarter of this, a later one an eighth (range_set.hpp).
  [[nodiscard]] std::size_t limit() const noexcept;
  [[nodiscard]] static std::size_t physical() noexcept { return os::system_space::physical(); }
  [[nodiscard]] static std::size_t processors() noexcept { return os::system_space::processors(); }
  [[nodiscard]] static std::uint64_t now_ms() noexcept { return os::system_space::now_ms(); }
  [[nodiscard]] static std::uint64_t secret() noexcept { return os::system_space::secret(); }

 private:
  struct piece {
    void* begin = nullptr;
    std::size_t bytes = 0;
  };

  [[nodiscard]] bool is_piece(const void* p) noexcept;

  any_source source_;
  std::atomic<std::size_t> budget_bytes_{SIZE_MAX};
  std::atomic<std::size_t> taken_{0};
  std::atomic<std::size_t> taken_peak_{0};
  std::atomic<std::uint64_t> returned_{0};
  detail::ranked<os::told_mutex, detail::lock_rank::pieces>::type mutex_;
  piece pieces_[ranges_max];
};

}  // namespace ashlar::runtime
