// arena/arena_objects.hpp: objects in an arena, and the destructors they are owed.
// Layer: arena (freestanding).
// Law: a destructor runs once for each constructor that returned; objects end in the reverse order
// of their completion. An object whose constructor throws leaves no trace, and its memory goes back
// as by deallocate (what it allocated itself stays until the rewind).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/arena/finalizer.hpp>
#include <ashlar/core/config.hpp>

namespace ashlar::detail {

/// Holds a block until its objects are complete. A destructor, and not a catch clause, so that it
/// works without exceptions and costs nothing there.
template <class Arena>
class unfinished_block {
 public:
  unfinished_block(Arena& arena, void* block, std::size_t size, std::size_t alignment) noexcept
      : arena_(arena), block_(block), size_(size), alignment_(alignment) {}
  ~unfinished_block() { arena_.deallocate(block_, size_, alignment_); }
  unfinished_block(const unfinished_block&) = delete;
  unfinished_block& operator=(const unfinished_block&) = delete;
  void keep() noexcept { block_ = nullptr; }

 private:
  Arena& arena_;
  void* block_;
  std::size_t size_;
  std::size_t alignment_;
};

/// Holds the first objects of an array until all of them are complete.
template <class T>
class unfinished_array {
 public:
  explicit unfinished_array(T* objects) noexcept : objects_(objects) {}
  ~unfinished_array() { destroy_backwards(objects_, built_); }
  unfinished_array(const unfinished_array&) = delete;
  unfinished_array& operator=(const unfinished_array&) = delete;
  void add_one() {
    ::new (static_cast<void*>(objects_ + built_)) T();
    ++built_;
  }
  void keep() noexcept { built_ = 0; }

 private:
  T* objects_;
  std::size_t built_ = 0;
};

template <class Engine>
class arena_objects : public Engine {
 public:
  using Engine::nothrow_allocate;

  /// Effects: a block, and T(arguments...) in it, destroyed by the rewind that takes the block, or
  /// at the arena's end (at_death::destroy). Returns: the object, or null when there is no room.
  /// A type with a destructor costs two words more. Throws: what the constructor throws. O(1) plus
  /// the constructor.
  template <class T, class... Arguments>
  [[nodiscard]] T* try_create(Arguments&&... arguments) noexcept(
      std::is_nothrow_constructible_v<T, Arguments...>) {
    using place = object_place<T, head_of<T, finalizer>>;
    return build<T>(this->try_allocate(place::offset + sizeof(T), place::alignment),
                    std::forward<Arguments>(arguments)...);
  }

  /// As try_create, but an arena without room asks the exhaustion policy. Returns null only if that
  /// does.
  template <class T, class... Arguments>
  [[nodiscard]] T* create(Arguments&&... arguments) noexcept(
      nothrow_allocate && std::is_nothrow_constructible_v<T, Arguments...>) {
    using place = object_place<T, head_of<T, finalizer>>;
    return build<T>(this->allocate(place::offset + sizeof(T), place::alignment),
                    std::forward<Arguments>(arguments)...);
  }

  /// As try_create, for `n` objects T() side by side; with n == 0 an address to which nothing may
  /// be written. A type with a destructor costs three words more. If a constructor throws, the
  /// objects before it are destroyed. An `n` that no memory can hold is no room.
  template <class T>
  [[nodiscard]] T* try_create_array(std::size_t n) noexcept(
      std::is_nothrow_default_constructible_v<T>) {
    using head = head_of<T, array_finalizer>;
    std::size_t bytes = 0;
    if (!bytes_for<T, head>(n, bytes)) return nullptr;
    return build_array<T>(this->try_allocate(bytes, object_place<T, head>::alignment), n, bytes);
  }

  /// As try_create_array, but an arena without room asks the exhaustion policy (for SIZE_MAX bytes
  /// if no memory can hold them).
  template <class T>
  [[nodiscard]] T* create_array(std::size_t n) noexcept(
      nothrow_allocate && std::is_nothrow_default_constructible_v<T>) {
    using head = head_of<T, array_finalizer>;
    std::size_t bytes = 0;
    if (!bytes_for<T, head>(n, bytes)) [[unlikely]] {
      static_cast<void>(this->allocate(SIZE_MAX, object_place<T, head>::alignment));
      return nullptr;
    }
    return build_array<T>(this->allocate(bytes, object_place<T, head>::alignment), n, bytes);
  }

 protected:
  using Engine::Engine;
  constexpr arena_objects() noexcept = default;
  arena_objects(arena_objects&&) noexcept
    requires Engine::is_movable
  = default;
  arena_objects& operator=(arena_objects&&) noexcept
    requires Engine::is_movable
  = default;
  ~arena_objects() = default;

 private:
  // A borrowed block is given back by its record, so then every type has one.
  template <class T>
  static constexpr bool has_head =
      !std::is_trivially_destructible_v<T> || Engine::exhaustion_type::borrows;
  template <class T, class Head>
  using head_of = std::conditional_t<has_head<T>, Head, void>;

  template <class T, class... Arguments>
  T* build(void* block,
           Arguments&&... arguments) noexcept(std::is_nothrow_constructible_v<T, Arguments...>) {
    static_assert(std::is_object_v<T> && !std::is_array_v<T>, "arrays are made by create_array");
    using head = head_of<T, finalizer>;
    using place = object_place<T, head>;
    if (block == nullptr) [[unlikely]]
      return nullptr;
    void* const at = place_behind<T, head>(block);
    T* object = nullptr;
    if constexpr (std::is_nothrow_constructible_v<T, Arguments...>) {
      object = ::new (at) T(std::forward<Arguments>(arguments)...);
    } else {
      unfinished_block<Engine> guard(*this, block, place::offset + sizeof(T), place::alignment);
      object = ::new (at) T(std::forward<Arguments>(arguments)...);
      guard.keep();
    }
    if constexpr (has_head<T>) this->enlist(::new (block) finalizer{nullptr, &end_object<T>});
    return object;
  }

  template <class T>
  T* build_array(void* block, std::size_t n,
                 std::size_t bytes) noexcept(std::is_nothrow_default_constructible_v<T>) {
    static_assert(std::is_object_v<T> && !std::is_array_v<T>, "an array's element is an object");
    using head = head_of<T, array_finalizer>;
    if (block == nullptr) [[unlikely]]
      return nullptr;
    auto* const at = static_cast<std::remove_cv_t<T>*>(place_behind<T, head>(block));
    if constexpr (std::is_nothrow_default_constructible_v<T>) {
      for (std::size_t i = 0; i < n; ++i) ::new (static_cast<void*>(at + i)) T();
    } else {
      unfinished_block<Engine> guard(*this, block, bytes, object_place<T, head>::alignment);
      unfinished_array objects(at);
      for (std::size_t i = 0; i < n; ++i) objects.add_one();
      objects.keep();
      guard.keep();
    }
    if constexpr (has_head<T>) {
      auto* const record = ::new (block) array_finalizer{{nullptr, &end_array<T>}, n};
      this->enlist(record);
    }
    return at;
  }
};

}  // namespace ashlar::detail
