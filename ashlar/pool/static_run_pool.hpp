// pool/static_run_pool.hpp: room for N objects inside the pool, handed out one by one or as arrays.
// Layer: pool (freestanding).
// Law: a pool that was never used is all zero bits, so a static one is in .bss, usable before main
// and after it (its destructor is trivial, unless a tool listens: core/memory_tools.hpp).
// Equation: sizeof == N * sizeof(T) + N / 4 + two words, each rounded up; blocks in use + free ==
// N. For single objects alone static_pool is O(1) in every case; this one is for arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/core/address.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/core/recording.hpp>
#include <ashlar/pool/inline_run.hpp>
#include <ashlar/pool/run_map.hpp>

namespace ashlar {

/// Memory, not objects: constructors and destructors are the caller's. Policies, in any order:
/// exhaustion (default null), a lock (no_lock; not lock_free), named, recording (none). Misuse is
/// always found.
template <class T, std::size_t N, class... Policies>
class static_run_pool {
 public:
  using value_type = T;
  using exhaustion_type = pick_policy<exhaustion_kind, exhaustion::null, Policies...>;
  using lock_type = pick_policy<lock_kind, no_lock, Policies...>;
  using name_type = pick_policy<name_kind, unnamed, Policies...>;
  using recording_type = pick_policy<recording_kind, recording::none, Policies...>;
  static constexpr bool nothrow_allocate = exhaustion_type::nothrow;

  static_assert(N > 0 && N <= SIZE_MAX / sizeof(T), "from one object to what has an address");
  static_assert(
      detail::of_kinds<exhaustion_kind, lock_kind, name_kind,
                       recording_kind>::template have_all<Policies...>,
      "a static_run_pool takes an exhaustion policy, a lock, a name and a recording policy");
  static_assert(!exhaustion_type::borrows, "a borrowed array's length would not be known");
  static_assert(!detail::is_lock_free_policy<lock_type>, "arrays need a lock");

  constexpr static_run_pool() noexcept = default;
  static_run_pool(const static_run_pool&) = delete;
  static_run_pool& operator=(const static_run_pool&) = delete;
  ~static_run_pool()
    requires(!detail::tools_present)
  = default;
  ~static_run_pool()
    requires detail::tools_present
  {
    detail::tell_ended(this);
    detail::tell_returned(this, memory_.bytes, sizeof memory_.bytes);
  }

  /// Returns: room for `n` neighbouring objects (0 counts as 1), at the lowest address there is; or
  /// null. Throws: nothing. Complexity: O(N / 64 + arrays in use) at worst, O(1) while there is
  /// room near the lowest free slot. Thread-safety: as the lock policy says, for all functions.
  [[nodiscard]] void* try_allocate(std::size_t n = 1) noexcept {
    n += n == 0;
    void* const p = take(n);
    detail::record_taken(recording_type{}, *this, p, bytes_of(n), alignof(T));
    return p;
  }

  /// As try_allocate, but asks the exhaustion policy, with no lock held. Throws: what that throws.
  [[nodiscard]] void* allocate(std::size_t n = 1) noexcept(nothrow_allocate) {
    void* const p = try_allocate(n);
    if (p == nullptr) [[unlikely]]
      return exhausted_slow(n);
    return p;
  }

  /// Effects: all of what try_allocate returned as `p` is free; null does nothing. Requires: it is
  /// in use; else ashlar_fault. O(n / 64).
  void deallocate(void* p) noexcept { deallocate_as(p, call_name<"deallocate">{}); }
  /// The same; a fault names `call`, a call_name or a text that stays.
  template <class Call>
  void deallocate_as(void* p, Call call) noexcept {
    if (p == nullptr) return;
    detail::record_given(recording_type{}, *this, p);
    detail::scoped_lock guard(lock_);
    const std::size_t offset = detail::bytes_from(memory_.bytes, p);
    if (offset % sizeof(T) != 0 || map_.length(offset / sizeof(T)) == 0) [[unlikely]] {
      lock_.unlock();
      bad_free_slow(p, call);
    }
    if constexpr (detail::tools_present) {
      detail::tell_freed(this, p, map_.length(offset / sizeof(T)) * sizeof(T));
    }
    map_.give(offset / sizeof(T));
  }

  [[nodiscard]] bool owns(const void* p) const noexcept {
    return detail::bytes_from(memory_.bytes, p) < N * sizeof(T);
  }
  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return N; }
  [[nodiscard]] static constexpr const char* name() noexcept { return name_type::name(); }
  /// Returns: objects that callers have room for. O(1).
  [[nodiscard]] std::size_t in_use() const noexcept {
    detail::scoped_lock guard(lock_);
    return map_.taken();
  }

 private:
  /// A length that is no size in bytes is refused for its length.
  [[nodiscard]] static constexpr std::size_t bytes_of(std::size_t n) noexcept {
    return n > N ? SIZE_MAX : n * sizeof(T);
  }
  /// Requires: n is not 0.
  [[nodiscard]] ASHLAR_HOT void* take(std::size_t n) noexcept {
    detail::scoped_lock guard(lock_);
    const std::size_t i = map_.take(n);
    if (i == map_.none) return nullptr;
    std::byte* const p = memory_.bytes + i * sizeof(T);
    if constexpr (detail::tools_present) {
      // A constant initialiser tells nothing, so the first block tells for all.
      if (!told_.all_closed) detail::tell_closed(memory_.bytes, sizeof memory_.bytes);
      told_.all_closed = true;
      detail::tell_made({this, name()}, p, n * sizeof(T), n * sizeof(T));
    }
    return p;
  }

  [[nodiscard]] ASHLAR_COLD void* exhausted_slow(std::size_t n) noexcept(nothrow_allocate) {
    return exhaustion_.exhausted(exhaustion_request{bytes_of(n), alignof(T), name()},
                                 [this, n]() noexcept { return try_allocate(n); });
  }
  [[noreturn]] ASHLAR_COLD void bad_free_slow(const void* p, const char* call) const noexcept {
    fault_kind kind = fault_kind::foreign_pointer;
    if (owns(p)) {
      const bool taken = map_.is_taken(detail::bytes_from(memory_.bytes, p) / sizeof(T));
      kind = taken ? fault_kind::interior_pointer : fault_kind::double_free;
    }
    ashlar_fault({kind, call, p, sizeof(T), name()});
  }

  struct told_tools {
    bool all_closed = false;
  };

  detail::run_map<N> map_;
  [[no_unique_address]] std::conditional_t<detail::tools_present, told_tools, detail::nothing<7>>
      told_;
  [[no_unique_address]] mutable lock_type lock_;
  [[no_unique_address]] exhaustion_type exhaustion_;
  detail::raw_bytes<N * sizeof(T), alignof(T)> memory_;
};

}  // namespace ashlar
