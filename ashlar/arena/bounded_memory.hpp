// arena/bounded_memory.hpp: one piece of memory that an arena fills from the bottom.
// Layer: arena (freestanding). Not for users: the arenas are built of these.
//
//   base        top                               base + limit
//   | in use    | never handed out, or given back |
//
// Invariant: base <= top <= base + limit. Bytes above the top are closed to tools (of storage that
// is part of the arena: from the first allocation on, since a constant initialiser tells nothing).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/core/address.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/memory_tools.hpp>

namespace ashlar::detail {

/// A place in an arena's memory: bytes below it are in use.
struct arena_position {
  const void* piece = nullptr;  ///< the base of bounded memory, a chunk of a growing one
  std::size_t used = 0;
};

/// Returns: the bytes from `p` to the next multiple of `alignment`.
[[nodiscard]] ASHLAR_HOT std::size_t padding_at(const std::byte* p,
                                                std::size_t alignment) noexcept {
  return -reinterpret_cast<std::uintptr_t>(p) & (alignment - 1);
}

/// The caller's bytes. Pointers, and not a count of bytes: the top is what each allocation waits
/// for.
class given_bytes {
 public:
  explicit given_bytes(std::span<std::byte> storage) noexcept
      : top_(storage.data()), end_(storage.data() + storage.size()), base_(storage.data()) {
    if constexpr (tools_present) tell_closed(base_, limit());
  }
  given_bytes(given_bytes&& other) noexcept { take(other); }
  given_bytes& operator=(given_bytes&& other) noexcept {
    give_back();
    take(other);
    return *this;
  }
  ~given_bytes() { give_back(); }

  [[nodiscard]] ASHLAR_HOT std::byte* base() const noexcept { return base_; }
  [[nodiscard]] ASHLAR_HOT std::byte* top() const noexcept { return top_; }
  [[nodiscard]] ASHLAR_HOT std::size_t room() const noexcept { return bytes_from(top_, end_); }
  [[nodiscard]] std::size_t limit() const noexcept { return bytes_from(base_, end_); }
  [[nodiscard]] ASHLAR_HOT std::size_t padding(std::size_t alignment) const noexcept {
    return padding_at(top_, alignment);
  }
  ASHLAR_HOT void raise(std::size_t n) noexcept { top_ += n; }
  ASHLAR_HOT void lower_to(std::size_t used) noexcept { top_ = base_ + used; }

 private:
  void take(given_bytes& other) noexcept {
    top_ = std::exchange(other.top_, nullptr);
    end_ = std::exchange(other.end_, nullptr);
    base_ = std::exchange(other.base_, nullptr);
    tell_moved(&other, this);
  }
  void give_back() noexcept {
    tell_ended(this);
    if constexpr (tools_present) tell_returned(this, base_, limit());
  }

  std::byte* top_ = nullptr;
  std::byte* end_ = nullptr;
  std::byte* base_ = nullptr;
};

/// Storage inside the arena: nobody initialises it, so in a static arena it is in .bss.
template <std::size_t Bytes>
class inside_bytes {
 public:
  constexpr inside_bytes() noexcept : storage_() {}
  inside_bytes(const inside_bytes&) = delete;
  inside_bytes& operator=(const inside_bytes&) = delete;
  ~inside_bytes()
    requires tools_present
  {
    tell_ended(this);
    tell_returned(this, base(), Bytes);
  }
  ~inside_bytes()
    requires(!tools_present)
  = default;

  // Computed, not stored: an address among the fields would put the whole storage into the image.
  [[nodiscard]] ASHLAR_HOT std::byte* base() const noexcept {
    return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&storage_));
  }
  [[nodiscard]] ASHLAR_HOT std::byte* top() const noexcept { return base() + used_; }
  [[nodiscard]] ASHLAR_HOT std::size_t room() const noexcept { return Bytes - used_; }
  [[nodiscard]] static constexpr std::size_t limit() noexcept { return Bytes; }
  [[nodiscard]] ASHLAR_HOT std::size_t padding(std::size_t alignment) const noexcept {
    // Where the storage is aligned well enough the count tells, a step earlier than the address.
    return alignment <= storage_alignment ? -used_ & (alignment - 1) : padding_at(top(), alignment);
  }
  ASHLAR_HOT void raise(std::size_t n) noexcept {
    if constexpr (tools_present) {
      if (used_ == 0) tell_closed(base(), Bytes);
    }
    used_ += n;
  }
  ASHLAR_HOT void lower_to(std::size_t used) noexcept { used_ = used; }

 private:
  static constexpr std::size_t storage_alignment = alignof(std::max_align_t);
  union storage {
    constexpr storage() noexcept : unused() {}
    char unused;
    alignas(storage_alignment) std::byte bytes[Bytes == 0 ? 1 : Bytes];
  };
  std::size_t used_ = 0;
  storage storage_;
};

template <class Bytes>
class bounded_memory : public Bytes {
 public:
  static constexpr bool grows = false;

  using Bytes::base;
  using Bytes::Bytes;
  using Bytes::limit;
  [[nodiscard]] ASHLAR_HOT std::size_t used() const noexcept {
    return bytes_from(base(), this->top());
  }
  /// Who owns the blocks, for tools.
  [[nodiscard]] ASHLAR_HOT const void* owner() const noexcept {
    return static_cast<const Bytes*>(this);
  }
  ASHLAR_HOT void fall(std::size_t to) noexcept {
    if constexpr (tools_present) tell_closed(base() + to, used() - to);
    this->lower_to(to);
  }

  /// Returns: whether the current piece now has room; here it never changes.
  [[nodiscard]] static constexpr bool make_room(std::size_t, std::size_t) noexcept { return false; }

  [[nodiscard]] arena_position start() const noexcept { return {base(), 0}; }
  [[nodiscard]] arena_position place_of_top() const noexcept { return {base(), used()}; }
  /// Returns: whether the top is at or above `position`, which is one of this memory.
  [[nodiscard]] bool reaches(arena_position position) const noexcept {
    return position.piece == base() && position.used <= used();
  }
  /// Requires: reaches(position).
  void rewind(arena_position position) noexcept {
    if constexpr (tools_present) tell_cut(owner(), base(), position.used, used());
    this->lower_to(position.used);
  }
  /// Effects: gives memory back that nothing is in. Returns: how much, bytes.
  [[nodiscard]] static constexpr std::size_t trim() noexcept { return 0; }

  [[nodiscard]] bool owns(const void* p) const noexcept { return bytes_from(base(), p) < limit(); }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return limit(); }
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used(); }
  [[nodiscard]] std::size_t chunks() const noexcept { return limit() != 0 ? 1 : 0; }
};

}  // namespace ashlar::detail
