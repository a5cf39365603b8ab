// pool/object_face.hpp: objects instead of blocks, for every pool that holds one type.
// Layer: pool (freestanding).
// Law: a block whose constructor throws goes back; a destructor runs once for each constructor.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/live_cursor.hpp>

namespace ashlar {

/// Gives an object back to the pool it came from. Requires: the pool outlives the object.
template <class Pool>
class pool_deleter {
 public:
  constexpr pool_deleter() noexcept = default;
  explicit constexpr pool_deleter(Pool& pool) noexcept : pool_(&pool) {}
  template <class T>
  void operator()(T* object) const noexcept {
    pool_->destroy(object);
  }

 private:
  Pool* pool_ = nullptr;
};

/// An object of a pool that destroys itself at the end of its scope.
template <class Pool>
using pool_ptr = std::unique_ptr<typename Pool::value_type, pool_deleter<Pool>>;

namespace detail {

/// Holds a block until its object is complete. A destructor, and not a catch clause, so that it
/// works without exceptions and costs nothing there.
template <class Pool>
class block_guard {
 public:
  block_guard(Pool& pool, void* block) noexcept : pool_(pool), block_(block) {}
  ~block_guard() { pool_.deallocate(block_); }
  block_guard(const block_guard&) = delete;
  block_guard& operator=(const block_guard&) = delete;
  void keep() noexcept { block_ = nullptr; }

 private:
  Pool& pool_;
  void* block_;
};

/// `Pool` derives from this and from the engine whose blocks are of T's size and alignment.
template <class Pool, class Engine, class T>
class object_face : public Engine {
  static constexpr bool destroys_objects =
      Engine::death_type::destroys && !std::is_trivially_destructible_v<T>;
  static_assert(!Engine::death_type::destroys || Engine::tracks_state,
                "at_death::destroy must know which blocks are in use: not with check::none");

 public:
  using value_type = T;

  /// Effects: a block, and T(arguments...) in it. Returns: the object, or null when the pool is
  /// empty. Throws: what the constructor throws; the block is back then. O(1) plus the constructor.
  template <class... Arguments>
  [[nodiscard]] T* try_create(Arguments&&... arguments) noexcept(
      std::is_nothrow_constructible_v<T, Arguments...>) {
    return construct(this->try_allocate(), std::forward<Arguments>(arguments)...);
  }

  /// As try_create, but an empty pool asks the exhaustion policy. Returns null only if that does.
  template <class... Arguments>
  [[nodiscard]] T* create(Arguments&&... arguments) noexcept(
      Engine::nothrow_allocate && std::is_nothrow_constructible_v<T, Arguments...>) {
    return construct(this->allocate(), std::forward<Arguments>(arguments)...);
  }

  /// As create, but the object destroys itself with the handle. Requires: the pool stays where it
  /// is and outlives the handle.
  template <class... Arguments>
  [[nodiscard]] std::unique_ptr<T, pool_deleter<Pool>> make(Arguments&&... arguments) {
    auto& self = static_cast<Pool&>(*this);
    return std::unique_ptr<T, pool_deleter<Pool>>(create(std::forward<Arguments>(arguments)...),
                                                  pool_deleter<Pool>(self));
  }

  /// Effects: ~T, and the block is free; null is allowed and does nothing. Requires: `object` came
  /// from this pool and was not destroyed. Where blocks are checked, a fault is reported before the
  /// destructor would run in a block that is not in use.
  void destroy(T* object) noexcept {
    if (object == nullptr) return;
    if constexpr (!std::is_trivially_destructible_v<T>) {
      if constexpr (!Engine::exhaustion_type::borrows) this->require_live(object);
      object->~T();
    }
    this->deallocate_as(object, call_name<"destroy">{});
  }

  /// Effects: f(object) for each object of the pool, in the order of addresses within a slab, with
  /// no lock held. `f` may destroy any object, its own included, and create others, which are
  /// visited or not. Requires: every block in use holds an object (made by create, not allocate)
  /// that is not under construction, and that nobody else destroys while `f` looks at it. Objects
  /// in borrowed blocks are not the pool's. Throws: what `f` throws. O(blocks made).
  template <class F>
  void for_each(F f)
    requires Engine::tracks_state
  {
    this->each_live([&f](void* p) { f(*static_cast<T*>(p)); });
  }
  template <class F>
  void for_each(F f) const
    requires Engine::tracks_state
  {
    this->each_live([&f](void* p) { f(*static_cast<const T*>(p)); });
  }

  /// Returns: the same objects as a range with forward iterators, which stay right as long as the
  /// pool stays where it is. No lock is taken: only while nobody else calls the pool. Requires: as
  /// for_each.
  [[nodiscard]] auto objects() noexcept
    requires Engine::tracks_state
  {
    return object_range<T, typename Engine::run_type>(this->run());
  }
  [[nodiscard]] auto objects() const noexcept
    requires Engine::tracks_state
  {
    return object_range<const T, typename Engine::run_type>(this->run());
  }

 protected:
  using Engine::Engine;
  constexpr object_face() noexcept = default;
  object_face(object_face&&) noexcept
    requires Engine::is_movable
  = default;
  // Each is destroyed like by a caller, so a destructor that destroys others of the pool (a parent
  // its children) is right as long as it does so before their turn.
  ~object_face()
    requires destroys_objects
  {
    for_each([this](T& object) { destroy(&object); });
  }
  ~object_face()
    requires(!destroys_objects)
  = default;

 private:
  template <class... Arguments>
  T* construct(void* block, Arguments&&... arguments) noexcept(
      std::is_nothrow_constructible_v<T, Arguments...>) {
    if (block == nullptr) [[unlikely]]
      return nullptr;
    if constexpr (std::is_nothrow_constructible_v<T, Arguments...>) {
      return ::new (block) T(std::forward<Arguments>(arguments)...);
    } else {
      block_guard<Engine> guard(*this, block);
      T* const object = ::new (block) T(std::forward<Arguments>(arguments)...);
      guard.keep();
      return object;
    }
  }
};

}  // namespace detail
}  // namespace ashlar
