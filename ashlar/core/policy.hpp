// core/policy.hpp: how a template finds its policies among arguments given in any order.
// Layer: core (freestanding).
// Law: every argument has exactly one kind, the component takes that kind, and none is given twice;
// all else is a compile error.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/core/page_source.hpp>

namespace ashlar {

// The kinds. A policy names its own as `policy_kind`; two are known by their shape instead, so that
// types from elsewhere fit as they are: a Lockable is a lock, a page_source is a source.
struct exhaustion_kind {};
struct lock_kind {};
struct check_kind {};
struct counting_kind {};
struct death_kind {};
struct name_kind {};
struct recording_kind {};
struct source_kind {};

/// Has lock() and unlock(), as std::mutex has.
template <class L>
concept basic_lockable = requires(L& l) {
  l.lock();
  l.unlock();
};

namespace detail {

template <class P>
struct kind_of {
  static_assert(sizeof(P) == 0, "this template argument is not a policy: see ashlar/README.md");
};
template <class P>
  requires requires { typename P::policy_kind; }
struct kind_of<P> {
  using type = typename P::policy_kind;
};
template <class P>
  requires(basic_lockable<P> && !requires { typename P::policy_kind; })
struct kind_of<P> {
  using type = lock_kind;
};
template <class P>
  requires(page_source<P> && !basic_lockable<P> && !requires { typename P::policy_kind; })
struct kind_of<P> {
  using type = source_kind;
};

template <class Kind, class P>
inline constexpr bool is_of_kind = std::same_as<Kind, typename kind_of<P>::type>;

/// Whether each of `Policies` is of one of `Kinds`: a component refuses what it would ignore.
template <class... Kinds>
struct of_kinds {
  template <class P>
  static constexpr bool has = (is_of_kind<Kinds, P> || ...);
  template <class... Policies>
  static constexpr bool have_all = (has<Policies> && ...);
};

template <class Kind, class Default, class... Policies>
struct pick {
  using type = Default;
};
template <class Kind, class Default, class First, class... Rest>
struct pick<Kind, Default, First, Rest...>
    : std::conditional_t<is_of_kind<Kind, First>, std::type_identity<First>,
                         pick<Kind, Default, Rest...>> {
  static_assert(!is_of_kind<Kind, First> ||
                    (std::size_t{0} + ... + std::size_t{is_of_kind<Kind, Rest>}) == 0,
                "two policies of one kind");
};

/// The type for a member that a policy has switched off: with [[no_unique_address]] it costs no
/// byte. `Tag` keeps two of them apart, since two empty members of one type may not share an
/// address.
template <int Tag>
struct nothing {};

}  // namespace detail

/// The policy of kind `Kind` among `Policies`, or `Default`.
template <class Kind, class Default, class... Policies>
using pick_policy = typename detail::pick<Kind, Default, Policies...>::type;

/// A text that can be a template argument, so that a pool's name costs the pool no byte.
template <std::size_t N>
struct fixed_string {
  // Implicit, so that a literal can be the argument.
  constexpr fixed_string(
      const char (&literal)[N]) noexcept {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
  char text[N]{};
};

/// The name of a call, for its faults. Beside a `const char*` it costs nothing as an argument, also
/// of a function that is not inlined.
template <fixed_string Name>
struct call_name {
  // Implicit, so that it stands where a text does.
  constexpr operator const char*() const noexcept {  // NOLINT(google-explicit-constructor)
    return Name.text;
  }
};

/// Policy: the name that a fault message gives.
template <fixed_string Name>
struct named {
  using policy_kind = name_kind;
  static constexpr const char* name() noexcept { return Name.text; }
};

/// Policy: faults name no pool.
struct unnamed {
  using policy_kind = name_kind;
  static constexpr const char* name() noexcept { return nullptr; }
};

/// What an allocator does when it ends while blocks of it are in use.
///   reports   it says so: by ashlar_fault if it `stops`, else by ashlar_report
///   destroys  it runs the destructors of the objects; for pools and arenas that know them
namespace at_death {
/// Policy: nothing. The memory goes with the pool; destructors of live objects do not run.
struct ignore {
  using policy_kind = death_kind;
  static constexpr bool reports = false;
  static constexpr bool stops = false;
  static constexpr bool destroys = false;
};
/// Policy: the destructors of live objects run, in no particular order.
struct destroy {
  using policy_kind = death_kind;
  static constexpr bool reports = false;
  static constexpr bool stops = false;
  static constexpr bool destroys = true;
};
/// Policy: ashlar_report with fault_kind::leak, then as ignore. O(1) where calls are counted.
struct report {
  using policy_kind = death_kind;
  static constexpr bool reports = true;
  static constexpr bool stops = false;
  static constexpr bool destroys = false;
};
/// Policy: ashlar_fault with fault_kind::leak. O(1) where calls are counted.
struct stop {
  using policy_kind = death_kind;
  static constexpr bool reports = true;
  static constexpr bool stops = true;
  static constexpr bool destroys = false;
};
}  // namespace at_death

namespace detail {
/// What at_death says of a heap instance, as a value.
enum class heap_leaks : std::uint8_t { ignored, reported, stop };
}  // namespace detail

}  // namespace ashlar
