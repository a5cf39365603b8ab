// adapt/smart_pointers.hpp: allocate_unique and allocate_shared over allocators and components.
// Layer: adapt.
//
//   constinit static_pool<shared_block<message>, 100> messages;
//   std::shared_ptr<message> p = allocate_shared<message>(messages, arguments...);
//
// Law: an object and all that its handle needs is one block; a constructor that throws gives it
// back.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <ashlar/adapt/component.hpp>
#include <ashlar/adapt/component_allocator.hpp>
#include <ashlar/core/config.hpp>

namespace ashlar {

/// Ends an object and gives its block back to a copy of the allocator that it came from: no byte in
/// the handle where that is stateless.
template <class Allocator>
class allocator_deleter {
  using traits = std::allocator_traits<Allocator>;

 public:
  using pointer = typename traits::pointer;

  constexpr allocator_deleter() noexcept
    requires std::default_initializable<Allocator>
  = default;
  explicit constexpr allocator_deleter(const Allocator& allocator) noexcept
      : allocator_(allocator) {}

  void operator()(pointer object) noexcept {
    traits::destroy(allocator_, std::to_address(object));
    traits::deallocate(allocator_, object, 1);
  }

 private:
  [[no_unique_address]] Allocator allocator_{};
};

namespace detail {

template <class T, class Allocator>
using allocator_for = typename std::allocator_traits<Allocator>::template rebind_alloc<T>;

/// Gives a block back unless its object was completed.
template <class Allocator>
struct allocation_guard {
  using traits = std::allocator_traits<Allocator>;
  Allocator& allocator;
  typename traits::pointer block;

  ~allocation_guard() {
    if (block != nullptr) traits::deallocate(allocator, block, 1);
  }
  typename traits::pointer keep() noexcept { return std::exchange(block, nullptr); }
};

/// The allocator that stands for "one address" in block sizes; never called.
struct any_component {
  static void* try_allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  static void* allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  static void deallocate(void*, std::size_t, std::size_t) noexcept {}
};

// The control block of std::allocate_shared. The libraries' own types are named, because nothing
// else knows the size without running a program, and a program cannot be run when cross-compiling.
// small_parts_test.cpp and tests/libcxx compare with what is really allocated.
#if defined(__GLIBCXX__)
template <class T, class Allocator>
using shared_node = std::_Sp_counted_ptr_inplace<T, Allocator, std::__default_lock_policy>;
#elif defined(_LIBCPP_VERSION)
template <class T, class Allocator>
using shared_node = std::__shared_ptr_emplace<T, Allocator>;
#else
#error "ashlar: the size of shared_ptr's control block is known for libstdc++ and libc++ only"
#endif

}  // namespace detail

/// Effects: one block of `allocator`, rebound to T, and T(arguments...) in it. Returns: its owner.
/// Throws: what allocate and the constructor throw; nothing is held then. The owner is a
/// std::unique_ptr<T, allocator_deleter<...>>, one pointer where the allocator is stateless.
template <class T, class Allocator, class... Arguments>
  requires(!component<Allocator> && !std::is_array_v<T>)
[[nodiscard]] auto allocate_unique(const Allocator& allocator, Arguments&&... arguments) {
  using own_type = detail::allocator_for<T, Allocator>;
  using traits = std::allocator_traits<own_type>;
  own_type own(allocator);
  detail::allocation_guard<own_type> guard{own, traits::allocate(own, 1)};
  traits::construct(own, std::to_address(guard.block), std::forward<Arguments>(arguments)...);
  return std::unique_ptr<T, allocator_deleter<own_type>>(guard.keep(),
                                                         allocator_deleter<own_type>(own));
}
/// The same over a component. Requires: it outlives the object.
template <class T, component Component, class... Arguments>
  requires(!std::is_array_v<T>)
[[nodiscard]] auto allocate_unique(Component& from, Arguments&&... arguments) {
  return allocate_unique<T>(component_allocator<T, Component>(from),
                            std::forward<Arguments>(arguments)...);
}

/// Effects: one block of `allocator`, rebound, for the object and its counts. It goes back when the
/// last std::weak_ptr is gone, not the last owner. Throws: as above.
template <class T, class Allocator, class... Arguments>
  requires(!component<Allocator> && !std::is_array_v<T>)
[[nodiscard]] std::shared_ptr<T> allocate_shared(const Allocator& allocator,
                                                 Arguments&&... arguments) {
  return std::allocate_shared<T>(allocator, std::forward<Arguments>(arguments)...);
}
/// The same over a component. Requires: it outlives the object, and all weak pointers to it.
template <class T, component Component, class... Arguments>
  requires(!std::is_array_v<T>)
[[nodiscard]] std::shared_ptr<T> allocate_shared(Component& from, Arguments&&... arguments) {
  return std::allocate_shared<T>(component_allocator<T, Component>(from),
                                 std::forward<Arguments>(arguments)...);
}

/// Bytes of the size and alignment of what allocate_shared<T> allocates, so that a static pool can
/// be declared for it: static_pool<shared_block<T>, N>. The default is the block over any one
/// component; for a stateless allocator give it: shared_block<T, allocator<T>>.
template <class T, class Allocator = component_allocator<T, detail::any_component>>
struct alignas(detail::shared_node<T, Allocator>) shared_block {
  std::byte bytes[sizeof(detail::shared_node<T, Allocator>)];
};

}  // namespace ashlar
