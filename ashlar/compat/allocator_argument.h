// compat/allocator_argument.h: which of a container's arguments is its allocator.
// Layer: compat. C++17.
#ifndef ASHLAR_COMPAT_ALLOCATOR_ARGUMENT_H
#define ASHLAR_COMPAT_ALLOCATOR_ARGUMENT_H

#include "needs_cxx17.h"

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace ashlar::compat {

/// Whether A is an allocator: it has the two things that no comparison, hash or container has.
template <class A, class = void>
struct is_allocator : std::false_type {};
template <class A>
struct is_allocator<
    A, std::void_t<typename A::value_type, decltype(std::declval<A&>().allocate(std::size_t{1}))>>
    : std::true_type {};

/// `Given`, or `Default` where an allocator stands in its place.
template <class Given, class Default>
using unless_allocator = std::conditional_t<is_allocator<Given>::value, Default, Given>;

template <class... Arguments>
struct first_allocator;
template <class Last>
struct first_allocator<Last> {
  using type = Last;
};
template <class First, class... Others>
struct first_allocator<First, Others...>
    : std::conditional_t<is_allocator<First>::value, first_allocator<First>,
                         first_allocator<Others...>> {};

/// The first allocator of the arguments, for elements of type T whatever it was for.
template <class T, class... Arguments>
using allocator_among = typename std::allocator_traits<
    typename first_allocator<Arguments...>::type>::template rebind_alloc<T>;

}  // namespace ashlar::compat

#endif
