// pool/static_pool_ptr.hpp: a handle on an object of a pool that the type names.
// Layer: pool (freestanding).
// Law: sizeof(static_pool_ptr<pool>) == sizeof(void*): the pool is part of the type, so a handle is
// half as large as a pool_ptr.
//
//   constinit static_pool<message, 64> messages;
//   static_pool_ptr<messages> m = make_static<messages>(1, "text");
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <ashlar/core/config.hpp>

namespace ashlar {

/// Gives an object back to `Pool`, an object with static storage duration.
template <auto& Pool>
struct static_pool_deleter {
  template <class T>
  void operator()(T* object) const noexcept {
    Pool.destroy(object);
  }
};

/// An object of `Pool` that destroys itself at the end of its scope.
template <auto& Pool>
using static_pool_ptr =
    std::unique_ptr<typename std::remove_reference_t<decltype(Pool)>::value_type,
                    static_pool_deleter<Pool>>;

/// Effects: as Pool.create(arguments...). Returns: the handle; null only if create returns null.
/// Throws: what create throws.
template <auto& Pool, class... Arguments>
[[nodiscard]] static_pool_ptr<Pool> make_static(Arguments&&... arguments) noexcept(
    noexcept(Pool.create(std::forward<Arguments>(arguments)...))) {
  return static_pool_ptr<Pool>(Pool.create(std::forward<Arguments>(arguments)...));
}

}  // namespace ashlar
