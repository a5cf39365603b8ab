// pool/class_set.hpp: several pools of different block sizes, side by side in one object.
// Layer: pool (freestanding). Not for users: pool_set.hpp has the faces.
//
//   | class 0: state, blocks | class 1: state, blocks | ... |     in the order of their sizes
//
// Law: a class is found by its size or by a block's address through a binary search over
// constants, O(log classes), without a table; a size that the compiler knows costs nothing.
// Each class is an engine with a lock of its own, not one lock for all: callers of two sizes do not
// wait for each other, no function holds two locks, and lock_free and interrupt masks mean what
// they mean in a single pool. The price is one lock object a class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/core/address.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/blocks.hpp>
#include <ashlar/pool/inline_run.hpp>
#include <ashlar/pool/pool_engine.hpp>
#include <ashlar/pool/run_traits.hpp>

namespace ashlar {

/// The figures of a pool set: those of each class, smallest first, and their sums.
template <std::size_t ClassCount>
struct pool_set_stats {
  pool_stats classes[ClassCount];

  [[nodiscard]] constexpr std::size_t blocks_in_use() const noexcept {
    return sum([](const pool_stats& c) { return c.blocks_in_use; });
  }
  [[nodiscard]] constexpr std::size_t allocations() const noexcept {
    return sum([](const pool_stats& c) { return c.allocations; });
  }
  [[nodiscard]] constexpr std::size_t frees() const noexcept {
    return sum([](const pool_stats& c) { return c.frees; });
  }
  /// Bytes of the blocks in use: block sizes, not what was asked for.
  [[nodiscard]] constexpr std::size_t bytes_in_use() const noexcept {
    return sum([](const pool_stats& c) { return c.blocks_in_use * c.block_size; });
  }
  /// What the classes had in use at their peaks, together; they need not have been at one time.
  [[nodiscard]] constexpr std::size_t bytes_at_peaks() const noexcept {
    return sum([](const pool_stats& c) { return c.peak_in_use * c.block_size; });
  }
  [[nodiscard]] constexpr std::size_t capacity_bytes() const noexcept {
    return sum([](const pool_stats& c) { return c.capacity * c.block_size; });
  }

 private:
  template <class Figure>
  [[nodiscard]] constexpr std::size_t sum(Figure figure) const noexcept {
    std::size_t total = 0;
    for (const pool_stats& c : classes) total += figure(c);
    return total;
  }
};

namespace detail {

template <class... Types>
struct type_list {
  static constexpr std::size_t size = sizeof...(Types);
};

/// The arguments that are blocks<...>, as a type_list in their order.
template <class Found, class... Arguments>
struct blocks_among {
  using type = Found;
};
template <class... Found, class First, class... Rest>
struct blocks_among<type_list<Found...>, First, Rest...>
    : blocks_among<std::conditional_t<is_of_kind<blocks_kind, First>, type_list<Found..., First>,
                                      type_list<Found...>>,
                   Rest...> {};

/// Objects one after the other: members, and not bases, because the order of members' addresses is
/// promised.
template <class First, class... Rest>
struct in_order {
  template <std::size_t I>
  [[nodiscard]] ASHLAR_HOT constexpr auto& get() noexcept {
    if constexpr (I == 0) {
      return first;
    } else {
      return rest.template get<I - 1>();
    }
  }
  template <std::size_t I>
  [[nodiscard]] ASHLAR_HOT constexpr const auto& get() const noexcept {
    if constexpr (I == 0) {
      return first;
    } else {
      return rest.template get<I - 1>();
    }
  }
  First first;
  in_order<Rest...> rest;
};
template <class Last>
struct in_order<Last> {
  template <std::size_t I>
  [[nodiscard]] ASHLAR_HOT constexpr auto& get() noexcept {
    static_assert(I == 0);
    return first;
  }
  template <std::size_t I>
  [[nodiscard]] ASHLAR_HOT constexpr const auto& get() const noexcept {
    static_assert(I == 0);
    return first;
  }
  Last first;
};

template <std::size_t I>
using index = std::integral_constant<std::size_t, I>;

/// Returns: found(index<i>) for the largest i in [From, To) with from(index<i>), or for From.
/// Requires: from() holds up to some i and not beyond. O(log(To - From)) calls of from().
template <std::size_t From, std::size_t To, class Reaches, class Found>
ASHLAR_HOT constexpr auto search(Reaches reaches, Found found) noexcept {
  if constexpr (To - From == 1) {
    return found(index<From>{});
  } else {
    constexpr std::size_t middle = From + (To - From) / 2;
    if (reaches(index<middle>{})) return search<middle, To>(reaches, found);
    return search<From, middle>(reaches, found);
  }
}

/// A class that is empty gives null: it is the set that asks the policy. Not exhaustion::null,
/// since two empty members of one type may not share an address, and the set may have that one.
struct asks_nobody {
  using policy_kind = exhaustion_kind;
  static constexpr bool nothrow = true;
  static constexpr bool may_return_null = true;
  static constexpr bool borrows = false;

  template <class Retry>
  void* exhausted(const exhaustion_request&, Retry&&) noexcept {
    return nullptr;
  }
};

/// What a pool set's block sizes have to be.
template <std::size_t... Sizes>
struct sizes_go_up {
  static constexpr bool value = [] {
    constexpr std::size_t sizes[] = {Sizes...};
    for (std::size_t c = 1; c < sizeof...(Sizes); ++c) {
      if (sizes[c - 1] >= sizes[c]) return false;
    }
    return true;
  }();
  static_assert(
      value,
      "the block sizes of a pool set go from small to large, and each is there once: write "
      "blocks<32, ...> before blocks<64, ...>");
};

template <class List, class... Policies>
class class_set {
  static_assert(List::size != 0, "a pool set has at least one class: blocks<Size, Count>");
};

template <class... Classes, class... Policies>
  requires(sizeof...(Classes) != 0)
class class_set<type_list<Classes...>, Policies...> {
  using lock_type = pick_policy<lock_kind, no_lock, Policies...>;
  using check_type = pick_policy<check_kind, check::cheap, Policies...>;
  using counting_type = pick_policy<counting_kind, counting::exact, Policies...>;
  using death_type = pick_policy<death_kind, at_death::ignore, Policies...>;
  using name_type = pick_policy<name_kind, unnamed, Policies...>;
  using spill_type = pick_policy<spill_kind, spill::take_larger, Policies...>;

  template <class Class>
  using run = inline_run<Class::size_bytes, Class::alignment, Class::count,
                         run_traits<check_type, lock_type, link_for<Class::count>>>;
  template <class Class>
  struct engine : pool_engine<run<Class>, asks_nobody, lock_type, check_type, counting_type,
                              death_type, name_type> {
    constexpr engine() noexcept : engine::pool_engine(asks_nobody{}) {}
  };

 public:
  static constexpr std::size_t count = sizeof...(Classes);
  static constexpr std::size_t none = count;
  static constexpr bool is_checked = check_type::tracks_state;
  static constexpr std::size_t sizes[count] = {run<Classes>::shape.block_size...};
  static constexpr std::size_t alignments[count] = {run<Classes>::shape.alignment...};
  static constexpr std::size_t strides[count] = {run<Classes>::shape.stride...};
  static constexpr std::size_t counts[count] = {Classes::count...};
  static constexpr std::size_t largest = sizes[count - 1];
  static_assert(sizes_go_up<run<Classes>::shape.block_size...>::value);
  static_assert(
      of_kinds<blocks_kind, spill_kind, exhaustion_kind, lock_kind, check_kind, counting_kind,
               death_kind, name_kind, recording_kind, source_kind>::template have_all<Policies...>,
      "a pool set takes no policy of this kind");
  static_assert(!death_type::destroys,
                "at_death::destroy is for pools of objects: a set's blocks have no type");

  constexpr class_set() noexcept = default;
  class_set(const class_set&) = delete;
  class_set& operator=(const class_set&) = delete;

  /// Returns: the smallest class for the request, or `none`. `size` 0 counts as 1.
  [[nodiscard]] static constexpr std::size_t class_of(std::size_t size,
                                                      std::size_t alignment) noexcept {
    std::size_t c = 0;
    while (c < count && (sizes[c] < size || alignments[c] < alignment)) ++c;
    return c;
  }

  ASHLAR_HOT static void require_power_of_two(const char* call, std::size_t size,
                                              std::size_t alignment) noexcept {
    if (!is_power_of_two(alignment)) [[unlikely]] {
      fault_slow(fault_kind::bad_argument, call, nullptr, size);
    }
  }

  [[nodiscard]] ASHLAR_HOT void* take(std::size_t size, std::size_t alignment) noexcept {
    // A size that the compiler knows folds into one class; the search for any other is one function
    // for all calls of a program.
    if (__builtin_constant_p(size) && __builtin_constant_p(alignment)) {
      return take_here(size, alignment);
    }
    return take_searched(size, alignment);
  }

  /// Requires: `p` is not null.
  ASHLAR_HOT void give(void* p, std::size_t size, std::size_t alignment) noexcept {
    if (!__builtin_constant_p(size) || !__builtin_constant_p(alignment)) {
      if (suits_all(alignment)) return give_sized(p, size);
      return give_any(p, size, alignment);
    }
    give_here(p, size, alignment);
  }

  /// Requires: `p` is not null.
  template <class Call>
  [[gnu::nonnull]] void give(void* p, Call call) noexcept {
    require_inside(p, call);
    by_address(
        p, [&](auto c) ASHLAR_HOT_LAMBDA { classes_.template get<c>().deallocate_as(p, call); });
  }
  /// Effects: if `p` is the set's: before(), and then as give. Returns: whether it is. Not inlined:
  /// a face with several names for it would have it several times.
  template <class Call, class Before>
  [[gnu::noinline]] bool try_give(void* p, Call call, Before before) noexcept {
    return by_address(p, [&](auto c) ASHLAR_HOT_LAMBDA {
      auto& blocks = classes_.template get<c>();
      if (!blocks.owns(p)) [[unlikely]]
        return false;
      before();
      blocks.deallocate_as(p, call);
      return true;
    });
  }

  [[nodiscard]] bool contains(const void* p) const noexcept {
    return by_address(p,
                      [&](auto c) ASHLAR_HOT_LAMBDA { return classes_.template get<c>().owns(p); });
  }
  /// Returns: the class whose memory `p` points into, or `none`.
  [[nodiscard]] std::size_t class_at(const void* p) const noexcept {
    return by_address(p, [&](auto c) ASHLAR_HOT_LAMBDA {
      return classes_.template get<c>().owns(p) ? std::size_t{c} : none;
    });
  }

  [[nodiscard]] pool_set_stats<count> stats() const noexcept {
    return each([](const auto&... blocks) { return pool_set_stats<count>{{blocks.stats()...}}; });
  }
  [[nodiscard]] bool audit() const noexcept {
    return each([](const auto&... blocks) { return (blocks.audit() && ...); });
  }

 private:
  static constexpr auto indices = std::make_index_sequence<count>{};

  template <class Visit>
  [[nodiscard]] auto each(Visit visit) const noexcept {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return visit(classes_.template get<I>()...);
    }(indices);
  }

  static constexpr std::size_t least_alignment = [] {
    std::size_t least = alignments[0];
    for (std::size_t alignment : alignments) least = min_of(least, alignment);
    return least;
  }();

  template <std::size_t C>
  [[nodiscard]] ASHLAR_HOT static bool fits(std::size_t size, std::size_t alignment) noexcept {
    return size <= sizes[C] && alignment <= alignments[C];
  }
  /// The last class before `c` whose blocks are more aligned than its own, or `none`.
  static constexpr std::size_t more_aligned_before(std::size_t c) noexcept {
    for (std::size_t before = c; before-- != 0;) {
      if (alignments[before] > alignments[c]) return before;
    }
    return none;
  }
  /// Returns: whether class C or one before it serves the request. What a class does not hold for
  /// its size no smaller one holds, so one compare decides where all are aligned alike.
  template <std::size_t C>
  [[nodiscard]] ASHLAR_HOT static bool fits_up_to(std::size_t size,
                                                  std::size_t alignment) noexcept {
    if constexpr (more_aligned_before(C) == none) {
      return fits<C>(size, alignment);
    } else {
      return fits<C>(size, alignment) || fits_up_to<more_aligned_before(C)>(size, alignment);
    }
  }

  /// The next class whose blocks are more aligned than those of class `c`, or `none`.
  static constexpr std::size_t more_aligned_than(std::size_t c) noexcept {
    std::size_t next = c + 1;
    while (next < count && alignments[next] <= alignments[c]) ++next;
    return next;
  }
  template <std::size_t C, class Found, class Unfound>
  ASHLAR_HOT static auto from_class(std::size_t alignment, Found found, Unfound unfound) noexcept {
    if (alignment <= alignments[C]) [[likely]]
      return found(index<C>{});
    if constexpr (more_aligned_than(C) != none) {
      return from_class<more_aligned_than(C)>(alignment, found, unfound);
    } else {
      return unfound();
    }
  }
  /// Returns: found(index<c>) for c == class_of(size, alignment), unfound() if that is `none`.
  template <class Found, class Unfound>
  ASHLAR_HOT static auto by_request(std::size_t size, std::size_t alignment, Found found,
                                    Unfound unfound) noexcept {
    return search<0, count>([size](auto c) ASHLAR_HOT_LAMBDA { return size > sizes[c - 1]; },
                            [&](auto c) ASHLAR_HOT_LAMBDA {
                              // What is too large for all gets here: the other classes need not
                              // look.
                              if constexpr (c + 1 == count) {
                                if (size > largest) [[unlikely]]
                                  return unfound();
                              }
                              return from_class<c>(alignment, found, unfound);
                            });
  }
  /// For an address outside the set: the first or the last class, which then says so.
  template <class Found>
  ASHLAR_HOT auto by_address(const void* p, Found found) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    return search<0, count>(
        [this, at](auto c) ASHLAR_HOT_LAMBDA {
          return at >= reinterpret_cast<std::uintptr_t>(&classes_.template get<c>());
        },
        found);
  }

  ASHLAR_HOT void* take_here(std::size_t size, std::size_t alignment) noexcept {
    require_power_of_two("allocate", size, alignment);
    return by_request(
        size, alignment,
        [&](auto c) ASHLAR_HOT_LAMBDA -> void* {
          auto& blocks = classes_.template get<c>();
          if constexpr (spill_type::to_larger && c + 1 < count) {
            void* const p = blocks.try_allocate();
            // The next larger class is what a request of its size gets.
            return p != nullptr ? p : take_searched(sizes[c + 1], alignment);
          } else {
            return blocks.try_allocate();
          }
        },
        []() ASHLAR_HOT_LAMBDA -> void* { return nullptr; });
  }
  /// Whether the compiler knows that the blocks of every class are so aligned: then only the size
  /// decides.
  [[nodiscard]] ASHLAR_HOT static bool suits_all(std::size_t alignment) noexcept {
    return __builtin_constant_p(alignment) && is_power_of_two(alignment) &&
           alignment <= least_alignment;
  }
  [[nodiscard]] ASHLAR_HOT void* take_searched(std::size_t size, std::size_t alignment) noexcept {
    return suits_all(alignment) ? take_sized(size) : take_any(size, alignment);
  }
  [[nodiscard, gnu::noinline]] void* take_sized(std::size_t size) noexcept {
    return take_here(size, least_alignment);
  }
  [[nodiscard, gnu::noinline]] void* take_any(std::size_t size, std::size_t alignment) noexcept {
    return take_here(size, alignment);
  }
  ASHLAR_HOT void give_here(void* p, std::size_t size, std::size_t alignment) noexcept {
    require_power_of_two("deallocate", size, alignment);
    by_request(
        size, alignment,
        [&](auto c) ASHLAR_HOT_LAMBDA {
          auto& blocks = classes_.template get<c>();
          constexpr bool is_certain = !spill_type::to_larger && !is_checked;
          if (is_certain || blocks.owns(p)) [[likely]] {
            blocks.deallocate(p);
          } else {
            give_any(p, size, alignment);  // a larger class served, or a misuse
          }
        },
        [&]() ASHLAR_HOT_LAMBDA { give_any(p, size, alignment); });
  }
  // nonnull, since the caller has looked: the classes need not.
  [[gnu::noinline, gnu::nonnull]] void give_sized(void* p, std::size_t size) noexcept {
    if constexpr (spill_type::to_larger) {
      give_any(p, size, least_alignment);
    } else {
      give_here(p, size, least_alignment);
    }
  }
  [[gnu::noinline, gnu::nonnull]] void give_any(void* p, std::size_t size,
                                                std::size_t alignment) noexcept {
    require_power_of_two("deallocate", size, alignment);
    require_inside(p, "deallocate");
    by_address(p, [&](auto c) ASHLAR_HOT_LAMBDA {
      if constexpr (is_checked) {
        const bool is_served_below =
            !spill_type::to_larger && c != 0 && fits_up_to<(c == 0 ? 0 : c - 1)>(size, alignment);
        if (!fits<c>(size, alignment) || is_served_below) [[unlikely]] {
          fault_slow(fault_kind::wrong_size, "deallocate", p, sizes[c]);
        }
      }
      classes_.template get<c>().deallocate(p);
    });
  }

  /// The classes look for themselves, too; but an address outside all of them belongs to none, and
  /// the message should not name the size of one.
  ASHLAR_HOT void require_inside(const void* p, const char* call) const noexcept {
    if constexpr (is_checked) {
      if (bytes_from(this, p) >= sizeof(*this)) [[unlikely]] {
        fault_slow(fault_kind::foreign_pointer, call, p, 0);
      }
    }
  }
  [[noreturn]] ASHLAR_COLD static void fault_slow(fault_kind kind, const char* call, const void* p,
                                                  std::size_t size) noexcept {
    ashlar_fault({kind, call, p, size, name_type::name()});
  }

  in_order<engine<Classes>...> classes_;
};

}  // namespace detail
}  // namespace ashlar
