// pool/object_pool.hpp: a fixed_pool of one type's objects.
// Layer: pool (freestanding).
// Law: every block is aligned for T, over-aligned types included.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/pool/fixed_pool.hpp>
#include <ashlar/pool/object_face.hpp>

namespace ashlar {

/// Objects of type T in the caller's bytes or from a page source: the modes, policies and defaults
/// of fixed_pool. What happens to objects that are still there at the pool's end is its at_death
/// policy; the default runs no destructor.
template <class T, class... Policies>
class object_pool : public detail::object_face<object_pool<T, Policies...>,
                                               fixed_pool<detail::holds<T>, Policies...>, T> {
  using blocks = fixed_pool<detail::holds<T>, Policies...>;
  using face = detail::object_face<object_pool<T, Policies...>, blocks, T>;
  static constexpr bool has_source =
      !std::is_same_v<typename blocks::source_type, detail::no_source>;

 public:
  using typename blocks::exhaustion_type;
  using typename blocks::source_type;

  /// There is no pool without memory: an error says what to write.
  template <class Object = T>
  object_pool() : face(block_layout::of<T>(), std::span<std::byte>()) {
    static_assert(sizeof(Object) == 0,
                  "an object_pool has no memory of its own: write object_pool<T> pool(bytes), or "
                  "object_pool<T, process_source> pool(heap_pool{n}); a static_pool<T, n> has it "
                  "inside");
  }

  /// Static pool: as fixed_pool.
  explicit object_pool(std::span<std::byte> storage, exhaustion_type exhaustion = {}) noexcept
    requires(!has_source)
      : face(block_layout::of<T>(), storage, std::move(exhaustion)) {}

  /// Heap pool: as fixed_pool.
  explicit object_pool(heap_pool mode, source_type source = {},
                       exhaustion_type exhaustion = {}) noexcept
    requires has_source
      : face(block_layout::of<T>(), mode, std::move(source), std::move(exhaustion)) {}

  /// Heap blocks: as fixed_pool.
  explicit object_pool(heap_blocks mode, source_type source = {},
                       exhaustion_type exhaustion = {}) noexcept
    requires(has_source && !blocks::is_lock_free)
      : face(block_layout::of<T>(), mode, std::move(source), std::move(exhaustion)) {}

  /// As fixed_pool. Handles of make() keep pointing to the old pool: there must be none.
  object_pool(object_pool&& other) noexcept
    requires blocks::is_movable
  = default;
  /// As the destructor for the objects that this pool had, then as above.
  object_pool& operator=(object_pool&& other) noexcept
    requires blocks::is_swappable
  {
    object_pool taken(std::move(other));
    this->swap_with(taken);
    return *this;
  }
  /// Requires: no handles of make() on objects of either.
  friend void swap(object_pool& a, object_pool& b) noexcept
    requires blocks::is_swappable
  {
    a.swap_with(b);
  }

  /// Returns: the bytes of storage that hold `count` objects wherever the storage begins; SIZE_MAX
  /// when no storage can.
  [[nodiscard]] static constexpr std::size_t storage_bytes(std::size_t count) noexcept {
    return blocks::storage_bytes(block_layout::of<T>(), count);
  }
};

}  // namespace ashlar
