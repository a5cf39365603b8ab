// core/recording.hpp: whether a component tells a recorder of its blocks.
// Layer: core (freestanding). The one place where a component speaks to a recorder.
//
//   recording::none          nobody is told: no byte, no instruction (tests/tools_absent)
//   recording::to<recorder>  that object, of static storage duration, is told of each block that is
//                            handed out or comes back and of each request that found none: no
//                            byte in the component
//
// Law: a birth is told after the block was taken, a death before it is free, both with no lock of
// the component held. So the order in which a recorder hears of them, from however many callers, is
// one in which no block has two owners. A block that an exhaustion policy borrows is its lender's
// to tell: a page source tells nobody.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <ashlar/core/config.hpp>
#include <ashlar/core/policy.hpp>

namespace ashlar {

/// Which component tells.
struct recorded_pool {
  const void* id;    ///< its address
  const char* name;  ///< as its policy `named` says; null: none
};

/// Who is told. Called by whoever calls the component, by several at the same time where its lock
/// policy allows that; must not call the component.
///   r.allocated(pool, p, size, alignment)  `p` is for a request of so many bytes; of a pool of one
///                                          size: that size
///   r.freed(pool, p)                       `p` is about to come back. A misuse is told, too,
///                                          before it is seen.
///   r.refused(pool, size, alignment)       there was no block: told for each try, those of a
///                                          handler's retry as well
template <class R>
concept block_recorder =
    requires(R& r, const recorded_pool& pool, const void* p, std::size_t size) {
      { r.allocated(pool, p, size, size) } noexcept;
      { r.freed(pool, p) } noexcept;
      { r.refused(pool, size, size) } noexcept;
    };

namespace recording {

/// Policy: nobody is told.
struct none {
  using policy_kind = recording_kind;
  static constexpr bool records = false;
};

/// Policy: `Recorder`, an object of static storage duration, is told. One may serve any number of
/// components.
template <auto& Recorder>
  requires block_recorder<std::remove_reference_t<decltype(Recorder)>>
struct to {
  using policy_kind = recording_kind;
  static constexpr bool records = true;
  [[nodiscard]] static constexpr auto& recorder() noexcept { return Recorder; }
};

}  // namespace recording

namespace detail {

/// A request for `size` bytes got `p`, or nothing.
template <class Recording, class Pool>
ASHLAR_HOT void record_taken(Recording, [[maybe_unused]] const Pool& pool,
                             [[maybe_unused]] const void* p, [[maybe_unused]] std::size_t size,
                             [[maybe_unused]] std::size_t alignment) noexcept {
  if constexpr (Recording::records) {
    if (p != nullptr) [[likely]] {
      Recording::recorder().allocated({&pool, pool.name()}, p, size, alignment);
    } else {
      Recording::recorder().refused({&pool, pool.name()}, size, alignment);
    }
  }
}
/// The same of a pool of one size.
template <class Recording, class Pool>
ASHLAR_HOT void record_taken([[maybe_unused]] Recording on, [[maybe_unused]] const Pool& pool,
                             [[maybe_unused]] const void* p) noexcept {
  if constexpr (Recording::records) {
    record_taken(on, pool, p, pool.block_size(), pool.alignment());
  }
}
/// `p`, which may be null, is about to come back.
template <class Recording, class Pool>
ASHLAR_HOT void record_given(Recording, [[maybe_unused]] const Pool& pool,
                             [[maybe_unused]] const void* p) noexcept {
  if constexpr (Recording::records) {
    if (p != nullptr) Recording::recorder().freed({&pool, pool.name()}, p);
  }
}

}  // namespace detail
}  // namespace ashlar
