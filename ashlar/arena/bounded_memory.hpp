// arena/bounded_memory.hpp: one piece of memory that an arena fills from the bottom.
// Layer: arena (freestanding). Includes: core. Not for users: the arenas are built of these.
//
//   base        base + used          base + limit
//   | in use    | never handed out, or given back |
//
// Invariant: used <= limit. With AddressSanitizer, bytes above `used` are poisoned (of storage that
// is part of the arena: from the first allocation on, since a constant initialiser cannot poison).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/core/poison.hpp>

namespace ashlar::detail {

/// A place in an arena's memory: bytes below it are in use.
struct arena_position {
  const void* piece = nullptr;  ///< the base of bounded memory, a chunk of a growing one
  std::size_t used = 0;
};

/// Returns: the bytes from `base` to `p`, modulo the width: huge if `p` lies before.
[[nodiscard]] ASHLAR_HOT std::size_t bytes_from(const std::byte* base, const void* p) noexcept {
  return reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(base);
}

/// The caller's bytes.
class given_bytes {
 public:
  explicit given_bytes(std::span<std::byte> storage) noexcept
      : base_(storage.data()), limit_(storage.size()) {
    poison(base_, limit_);
  }
  given_bytes(given_bytes&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), limit_(std::exchange(other.limit_, 0)) {}
  given_bytes& operator=(given_bytes&& other) noexcept {
    unpoison(base_, limit_);
    base_ = std::exchange(other.base_, nullptr);
    limit_ = std::exchange(other.limit_, 0);
    return *this;
  }
  ~given_bytes() { unpoison(base_, limit_); }

  [[nodiscard]] ASHLAR_HOT std::byte* base() const noexcept { return base_; }
  [[nodiscard]] ASHLAR_HOT std::size_t limit() const noexcept { return limit_; }
  void first_use() const noexcept {}

 private:
  std::byte* base_;
  std::size_t limit_;
};

/// Storage inside the arena: nobody initialises it, so in a static arena it is in .bss.
template <std::size_t Bytes>
class inside_bytes {
 public:
  constexpr inside_bytes() noexcept : storage_() {}
  inside_bytes(const inside_bytes&) = delete;
  inside_bytes& operator=(const inside_bytes&) = delete;
  ~inside_bytes()
    requires address_sanitizer
  {
    unpoison(base(), Bytes);
  }
  ~inside_bytes()
    requires(!address_sanitizer)
  = default;

  // Computed, not stored: an address among the fields would put the whole storage into the image.
  [[nodiscard]] ASHLAR_HOT std::byte* base() const noexcept {
    return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&storage_));
  }
  [[nodiscard]] static constexpr std::size_t limit() noexcept { return Bytes; }
  void first_use() const noexcept { poison(base(), Bytes); }

 private:
  union storage {
    constexpr storage() noexcept : unused() {}
    char unused;
    alignas(std::max_align_t) std::byte bytes[Bytes == 0 ? 1 : Bytes];
  };
  storage storage_;
};

template <class Bytes>
class bounded_memory {
 public:
  static constexpr bool grows = false;

  template <class... Arguments>
  constexpr explicit bounded_memory(Arguments&&... arguments) noexcept
      : bytes_(std::forward<Arguments>(arguments)...) {}
  bounded_memory(bounded_memory&& other) noexcept
    requires std::is_move_constructible_v<Bytes>
      : used_(std::exchange(other.used_, 0)), bytes_(std::move(other.bytes_)) {}
  bounded_memory& operator=(bounded_memory&& other) noexcept
    requires std::is_move_assignable_v<Bytes>
  {
    used_ = std::exchange(other.used_, 0);
    bytes_ = std::move(other.bytes_);
    return *this;
  }
  ~bounded_memory() = default;

  // The current piece: what the hit path looks at.
  [[nodiscard]] ASHLAR_HOT std::byte* base() const noexcept { return bytes_.base(); }
  [[nodiscard]] ASHLAR_HOT std::size_t used() const noexcept { return used_; }
  [[nodiscard]] ASHLAR_HOT std::size_t limit() const noexcept { return bytes_.limit(); }
  ASHLAR_HOT void advance(std::size_t to) noexcept {
    if constexpr (address_sanitizer) {
      if (used_ == 0) bytes_.first_use();
    }
    used_ = to;
  }
  ASHLAR_HOT void fall(std::size_t to) noexcept {
    poison(base() + to, used_ - to);
    used_ = to;
  }

  /// Returns: whether the current piece now has room; here it never changes.
  [[nodiscard]] static constexpr bool make_room(std::size_t, std::size_t) noexcept { return false; }

  [[nodiscard]] arena_position start() const noexcept { return {base(), 0}; }
  [[nodiscard]] arena_position top() const noexcept { return {base(), used_}; }
  /// Returns: whether the top is at or above `position`, which is one of this memory.
  [[nodiscard]] bool reaches(arena_position position) const noexcept {
    return position.piece == base() && position.used <= used_;
  }
  /// Requires: reaches(position).
  void rewind(arena_position position) noexcept { fall(position.used); }
  /// Effects: gives memory back that nothing is in. Returns: how much, bytes.
  [[nodiscard]] static constexpr std::size_t trim() noexcept { return 0; }

  [[nodiscard]] bool owns(const void* p) const noexcept { return bytes_from(base(), p) < limit(); }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return limit(); }
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }
  [[nodiscard]] std::size_t chunks() const noexcept { return limit() != 0 ? 1 : 0; }

 private:
  std::size_t used_ = 0;
  Bytes bytes_;
};

}  // namespace ashlar::detail
