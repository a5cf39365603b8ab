// SizeBasedArena.h: the classic arena for at most N objects of one type, one for the whole program.
// Layer: compat. Forwards to arena/static_arena.hpp, and with `reuse` to pool/static_run_pool.hpp.
//
//   SizeBasedArena<Orc, 1'000'000>::get()          memory is handed out once; freeing does nothing
//   SizeBasedArena<Orc, 100, ashlar::arena_option::reuse>
//                                                  freed objects and arrays are used again
//
// Options of ashlar's, in any order: arena_option::reuse; arena_option::final_type (T must be
// final); an exhaustion policy (default exhaustion::throw_bad_alloc), a lock (default os::mutex),
// named<"...">.
//
// As in the classic: two types of one size have two arenas, and it holds memory, not objects.
// Unlike it:
//   - It is bounded: object N + 1 is std::bad_alloc, and not written behind the end.
//   - get() is an address: no guard, no first call, no start-up code. The memory is in .bss, N *
//     sizeof(T) bytes of address space that cost no page until they are used, and it serves from
//     the first static constructor to the last static destructor.
//   - allocate_object and allocate_array take what an operator new is told, so that a derived class
//     that is larger ends in ashlar_fault(wrong_size), and an array has room for its cookie.
//   - allocate_one and allocate_n are not told the size, so the compiler warns where the class is
//     not final. They find a larger object by what it wrote: memory that was never handed out is
//     zero. They look when the next object is allocated, so a larger object is found if it wrote a
//     byte that is not zero by then. Without `reuse` only. For a class with virtual
//     functions, which is there to be derived from, allocate_one does not compile.
//
//   class Orc {
//    public:
//     static void* operator new(std::size_t n) { return Tribe::get().allocate_object(n); }
//     static void* operator new[](std::size_t n) { return Tribe::get().allocate_array(n); }
//     static void operator delete(void* p) noexcept { Tribe::get().deallocate_one(p); }
//     static void operator delete[](void* p) noexcept { Tribe::get().deallocate_n(p); }
//   };
#pragma once

#if __cplusplus < 202002L
#error "SizeBasedArena.h needs C++20: compile with -std=c++20"
#include "-std=c++20"  // is not there: the compiler stops, and that sentence is its last
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ashlar/arena/static_arena.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/pool/static_run_pool.hpp>

namespace ashlar::arena_option {

struct reuse_kind {};
struct final_kind {};

/// What is freed is used again, the lowest addresses first. Misuse is then found: foreign, interior
/// and doubly freed addresses end in ashlar_fault.
struct reuse {
  using policy_kind = reuse_kind;
  static constexpr bool reuses = true;
};
/// T must be final: no derived class can inherit its operators.
struct final_type {
  using policy_kind = final_kind;
  static constexpr bool needs_final = true;
};

}  // namespace ashlar::arena_option

namespace ashlar::compat {

template <class T>
concept never_derived_from = std::is_final_v<T> || !std::is_class_v<T>;

struct no_reuse {
  static constexpr bool reuses = false;
};
struct any_type {
  static constexpr bool needs_final = false;
};

/// Memory for N objects that is handed out once, from the bottom to the top.
template <class T, std::size_t N, class... Policies>
class bump_objects {
 public:
  [[nodiscard]] void* allocate(std::size_t n) {
    // What has no size in bytes has no room either.
    return arena_.allocate(n > N ? SIZE_MAX : n * sizeof(T), alignof(T));
  }
  /// Effects: ashlar_fault(wrong_size) naming `call` if somebody wrote to the start of `fresh`,
  /// which was handed out just now: then the object before it is larger than a slot. O(1).
  static void expect_untouched(const void* fresh, const char* call) noexcept {
    // A memory tool closes what was not handed out, and sees the very write.
    if constexpr (!detail::tools_present) {
      // The first object of a page is not looked at, so that no page is touched before its object
      // is.
      const std::size_t in_page = reinterpret_cast<std::uintptr_t>(fresh) % page_bytes;
      if (fresh == nullptr || in_page == 0 || in_page + looked_at > page_bytes) return;
      static constexpr unsigned char zeros[looked_at] = {};
      if (std::memcmp(fresh, zeros, looked_at) != 0) [[unlikely]]
        overlap_slow(fresh, call);
    }
  }
  template <class Call>
  static void deallocate_as(void*, Call) noexcept {}
  [[nodiscard]] bool owns(const void* p) const noexcept { return arena_.owns(p); }
  [[nodiscard]] std::size_t in_use() const noexcept { return arena_.used_bytes() / sizeof(T); }

 private:
  static constexpr std::size_t page_bytes = 4096;  // or more: then some looks are left out
  static constexpr std::size_t looked_at = std::min<std::size_t>(sizeof(T), 64);

  [[noreturn]] ASHLAR_COLD static void overlap_slow(const void* fresh, const char* call) noexcept {
    const auto* const bytes = static_cast<const unsigned char*>(fresh);
    std::size_t written = looked_at;
    while (bytes[written - 1] == 0) --written;
    ashlar_fault({.kind = fault_kind::wrong_size,
                  .call = call,
                  .address = bytes - sizeof(T),
                  .block_size = sizeof(T),
                  .needed = sizeof(T) + written});
  }

  // The arena's bytes are aligned for any object that is not over-aligned.
  static constexpr std::size_t lost = alignof(T) > alignof(std::max_align_t)
                                          ? alignof(T) - alignof(std::max_align_t)
                                          : 0;
  static_arena<N * sizeof(T) + lost, at_death::ignore, counting::none, Policies...> arena_;
};

}  // namespace ashlar::compat

/// Any thread may call any function at any time; see the head of this file for the options.
template <class T, std::size_t N, class... Options>
class SizeBasedArena {
  static_assert(N > 0, "an arena without room");
  static_assert(N <= SIZE_MAX / sizeof(T), "more bytes than there are addresses");
  static_assert(!ashlar::pick_policy<ashlar::arena_option::final_kind, ashlar::compat::any_type,
                                     Options...>::needs_final ||
                    std::is_final_v<T>,
                "arena_option::final_type: T is not final");

  using exhaustion_type =
      ashlar::pick_policy<ashlar::exhaustion_kind, ashlar::exhaustion::throw_bad_alloc, Options...>;
  using lock_type = ashlar::pick_policy<ashlar::lock_kind, ashlar::os::mutex, Options...>;
  using name_type = ashlar::pick_policy<ashlar::name_kind, ashlar::unnamed, Options...>;
  static constexpr bool reuses = ashlar::pick_policy<ashlar::arena_option::reuse_kind,
                                                     ashlar::compat::no_reuse, Options...>::reuses;
  using memory_type =
      std::conditional_t<reuses,
                         ashlar::static_run_pool<T, N, exhaustion_type, lock_type, name_type>,
                         ashlar::compat::bump_objects<T, N, exhaustion_type, lock_type, name_type>>;

 public:
  SizeBasedArena(const SizeBasedArena&) = delete;
  SizeBasedArena& operator=(const SizeBasedArena&) = delete;

  /// Returns: the arena. A constant address.
  static SizeBasedArena& get() noexcept { return singleton; }

  /// Returns: room for one object, aligned for it. Throws: std::bad_alloc when there is none, or
  /// what the exhaustion policy says instead. O(1); with reuse as static_run_pool. Ends in
  /// ashlar_fault(wrong_size) if the object before turns out to be of a larger derived class.
  void* allocate_one()
    requires ashlar::compat::never_derived_from<T>
  {
    return untold(1, "allocate_one");
  }
  /// The same, by the name that the document's first arena has.
  void* allocate()
    requires ashlar::compat::never_derived_from<T>
  {
    return untold(1, "allocate");
  }
  /// Returns: room for `n` neighbouring objects; n == 0 counts as 1. Throws: as allocate_one.
  void* allocate_n(std::size_t n)
    requires ashlar::compat::never_derived_from<T>
  {
    return untold<false>(n, "allocate_n");
  }
  // The same for a class that may be derived from: a program that keeps them is told.
#define ASHLAR_UNTOLD(call)                                                        \
  [[deprecated(                                                                    \
      "not told the size, so a larger derived class may overwrite its neighbour: " \
      "write " call " in the operator, or make the class final")]]
  ASHLAR_UNTOLD("allocate_object(n)") void* allocate_one() { return untold(1, "allocate_one"); }
  ASHLAR_UNTOLD("allocate_object(n)") void* allocate() { return untold(1, "allocate"); }
  ASHLAR_UNTOLD("allocate_array(n)") void* allocate_n(std::size_t n) {
    return untold<false>(n, "allocate_n");
  }
#undef ASHLAR_UNTOLD

  /// For an operator new: room for one object of `bytes` bytes. Requires: bytes <= sizeof(T): else
  /// the object is of a larger derived class, which is ashlar_fault(wrong_size).
  void* allocate_object(std::size_t bytes) {
    if (bytes > sizeof(T)) [[unlikely]]
      ashlar_fault({.kind = ashlar::fault_kind::wrong_size,
                    .call = "operator new",
                    .block_size = sizeof(T),
                    .pool = name_type::name(),
                    .needed = bytes});
    return memory_.allocate(1);
  }
  /// For an operator new[]: as many objects as `bytes` bytes take, the array's cookie included, and
  /// whatever their class.
  void* allocate_array(std::size_t bytes) {
    return memory_.allocate(bytes == 0 ? 1 : ashlar::divide_up(bytes, sizeof(T)));
  }

  /// Effects: nothing, at no cost; with reuse the memory is free. Null does nothing. Requires: `p`
  /// came from here and is in use; with reuse, ashlar_fault otherwise. Both do the same: what is at
  /// an address is known.
  void deallocate_one(void* p) noexcept {
    memory_.deallocate_as(p, ashlar::call_name<"deallocate_one">{});
  }
  void deallocate_n(void* p) noexcept {
    memory_.deallocate_as(p, ashlar::call_name<"deallocate_n">{});
  }
  void deallocate(void* p) noexcept { memory_.deallocate_as(p, ashlar::call_name<"deallocate">{}); }

  /// Returns: whether `p` points into the arena. O(1).
  [[nodiscard]] bool owns(const void* p) const noexcept { return memory_.owns(p); }
  /// Returns: N.
  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return N; }
  /// Returns: objects that room was handed out for and did not come back.
  [[nodiscard]] std::size_t in_use() const noexcept { return memory_.in_use(); }

 private:
  constexpr SizeBasedArena() noexcept = default;

  template <bool IsOne = true>
  [[nodiscard]] void* untold(std::size_t n, const char* call) {
    static_assert(
        !IsOne || !std::is_polymorphic_v<T> || ashlar::compat::never_derived_from<T>,
        "SizeBasedArena::allocate_one: the class has virtual functions, so a derived class "
        "that is larger may come: in operator new(n) write allocate_object(n), or make "
        "the class final");
    void* const p = memory_.allocate(n == 0 ? 1 : n);
    if constexpr (!reuses) memory_type::expect_untouched(p, call);
    return p;
  }

  memory_type memory_;
  static SizeBasedArena singleton;
};

template <class T, std::size_t N, class... Options>
constinit SizeBasedArena<T, N, Options...> SizeBasedArena<T, N, Options...>::singleton;
