// compat/xmalloc_pools.hpp: xmalloc's rules over the pools that a program declares, and the macro
// that makes a program's xmalloc of them. The static, document's and heap-blocks modes share it.
// Layer: compat. Calls no heap and no stdio.
//
// A block's address tells its class, and so its size: there is no header in front of it.
// Thread-safety: the pools' lock policy's; no lock is held while a new-handler runs.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <ashlar/adapt/xmalloc.h>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/pool/pool_set.hpp>

namespace ashlar {

/// What serves a request for which no class is large or aligned enough: nobody.
struct nothing_larger {
  static void* allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  static std::size_t usable_size(const void*, const char*) noexcept { return 0; }
  /// Returns: whether the block was taken.
  static bool deallocate(void*, const char*) noexcept { return false; }
};

/// `Pools` is a set of pools as pool_set: allocate(size, alignment) by its exhaustion policy,
/// try_allocate, try_deallocate_as(p, call), usable_size, class_of, class_count, stats().classes.
/// Never destroyed: static destructors of any translation unit may still free.
template <class Pools, class Lock, class Larger = nothing_larger>
class xmalloc_pools {
  static_assert(!Pools::exhaustion_type::borrows,
                "xrealloc has to know each block's size, which a borrowed block does not tell");

 public:
  constexpr xmalloc_pools() noexcept : pools_() {}
  xmalloc_pools(const xmalloc_pools&) = delete;
  xmalloc_pools& operator=(const xmalloc_pools&) = delete;
  ~xmalloc_pools()
    requires std::is_trivially_destructible_v<Pools>
  = default;
  constexpr ~xmalloc_pools()
    requires(!std::is_trivially_destructible_v<Pools>)
  {}

  /// The functions of adapt/xmalloc.h. What the exhaustion policy throws is null and ENOMEM here: C
  /// cannot be thrown through. (A class with XALLOCATOR throws bad_alloc by itself.)
  [[nodiscard]] void* allocate(std::size_t size,
                               std::size_t alignment = alignof(std::max_align_t)) noexcept {
    void* const p = pools_.try_allocate(size, alignment);
    return p != nullptr ? p : allocate_slow(size, alignment);
  }

  void deallocate(void* p, const char* call = "xfree") noexcept {
    if (p == nullptr) return;
    if (!pools_.try_deallocate_as(p, call) && !Larger::deallocate(p, call)) [[unlikely]]
      foreign_slow(p, call);
  }

  /// In place if the block is of the class that the new size would get, or if there is no other.
  [[nodiscard]] void* reallocate(void* p, std::size_t size) noexcept {
    if (p == nullptr) return allocate(size);
    if (size == 0) {
      deallocate(p, "xrealloc");
      return nullptr;
    }
    const std::size_t old = usable_size(p, "xrealloc");
    const std::size_t wanted = Pools::class_of(size);
    if (wanted != Pools::class_count && old == Pools::block_size(wanted)) return p;
    void* moved = nullptr;
    if (size > old) {
      moved = allocate(size);
      if (moved == nullptr) return nullptr;
    } else {
      // Smaller: worth a move, but not a failure, nor a call of the handler.
      moved = pools_.try_allocate(size);
      if (moved == nullptr || pools_.usable_size(moved) >= old) {
        deallocate(moved, "xrealloc");
        return p;
      }
    }
    std::memcpy(moved, p, size < old ? size : old);
    deallocate(p, "xrealloc");
    return moved;
  }

  [[nodiscard]] void* allocate_zeroed(std::size_t count, std::size_t size) noexcept {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
      errno = ENOMEM;
      return nullptr;
    }
    void* const p = allocate(bytes);
    return p == nullptr ? nullptr : std::memset(p, 0, bytes);
  }

  [[nodiscard]] void* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
    if (!is_power_of_two(alignment)) {
      errno = EINVAL;
      return nullptr;
    }
    return allocate(size, alignment);
  }

  [[nodiscard]] std::size_t usable_size(const void* p,
                                        const char* call = "xusable_size") const noexcept {
    if (p == nullptr) return 0;
    std::size_t size = pools_.usable_size(p);
    if (size == 0) size = Larger::usable_size(p, call);
    if (size == 0) foreign_slow(p, call);
    return size;
  }

  /// Whether an allocation that fails has called the std::new_handler already. Not where more
  /// memory may come from a heap.
  static constexpr bool asks_handler = std::is_same_v<Larger, nothing_larger>;

  /// Effects: starts and ends what the lock policy has to start and to end; the blocks stay.
  static void init() noexcept {
    if constexpr (requires { Lock::start(); }) Lock::start();
  }
  static void destroy() noexcept {
    if constexpr (requires { Lock::stop(); }) Lock::stop();
  }

  /// Effects: a line for each class, smallest first. The first three columns are the classic
  /// report's, word for word; a bounded class has all of its blocks from the start.
  void write_stats() const noexcept {
    const auto stats = pools_.stats();
    for (const pool_stats& c : stats.classes) {
      line_writer<128> line;
      line << "xallocator Block Size: " << c.block_size << " Block Count: " << c.peak_in_use
           << " Blocks In Use: " << c.blocks_in_use << "\n";
      xalloc_stats_line(line.data(), line.size());
    }
  }

  [[nodiscard]] Pools& pools() noexcept { return pools_; }

 private:
  [[nodiscard]] ASHLAR_COLD void* allocate_slow(std::size_t size, std::size_t alignment) noexcept {
    void* p = nullptr;
    if (Pools::class_of(size, alignment) == Pools::class_count) {
      // Not the policy: no handler can free what no class has.
      p = Larger::allocate(size, alignment);
    } else {
      ASHLAR_TRY { p = pools_.allocate(size, alignment); }
      ASHLAR_CATCH_ALL { p = nullptr; }
    }
    if (p == nullptr) errno = ENOMEM;
    return p;
  }
  [[noreturn]] ASHLAR_COLD static void foreign_slow(const void* p, const char* call) noexcept {
    ashlar_fault({fault_kind::foreign_pointer, call, p, 0, Pools::name()});
  }

  union {  // a union, so that nobody destroys it
    Pools pools_;
  };
};

namespace detail {

/// `Set` of the arguments, with os::mutex if they have no lock.
template <template <class...> class Set, class... Arguments>
struct with_lock {
  using given = pick_policy<lock_kind, void, Arguments...>;
  static constexpr bool is_given = !std::is_void_v<given>;
  using lock = std::conditional_t<is_given, given, os::mutex>;
  using set = typename std::conditional_t<is_given, std::type_identity<Set<Arguments...>>,
                                          std::type_identity<Set<Arguments..., os::mutex>>>::type;
};

#if defined(__APPLE__)
#define ASHLAR_LINKED_NAME "__ZSt15get_new_handlerv"  // names begin with a line there
#else
#define ASHLAR_LINKED_NAME "_ZSt15get_new_handlerv"
#endif
extern "C" [[gnu::weak]] std::new_handler ashlar_linked_new_handler() noexcept
    __asm__(ASHLAR_LINKED_NAME);
#undef ASHLAR_LINKED_NAME
/// The process's handler. Static pools bring no C++ library with them: in a program without one
/// there is none.
struct linked_new_handler {
  [[nodiscard]] std::new_handler get() const noexcept {
    return ashlar_linked_new_handler != nullptr ? ashlar_linked_new_handler() : nullptr;
  }
};

/// static_pool_set of the arguments. If they have no exhaustion policy, an empty set calls the
/// std::new_handler once, where there is one.
template <class... Arguments>
using handler_once_set = typename std::conditional_t<
    hosted && std::is_void_v<pick_policy<exhaustion_kind, void, Arguments...>>,
    std::type_identity<static_pool_set<
        Arguments..., exhaustion::handler_once<exhaustion::null, linked_new_handler>>>,
    std::type_identity<static_pool_set<Arguments...>>>::type;

}  // namespace detail

/// Static pools: all blocks in the object itself, so no heap is ever called.
template <class... BlocksAndPolicies>
using static_xmalloc =
    xmalloc_pools<typename detail::with_lock<detail::handler_once_set, BlocksAndPolicies...>::set,
                  typename detail::with_lock<detail::handler_once_set, BlocksAndPolicies...>::lock>;

namespace detail {

/// Whether a macro's arguments name blocks and policies, and not plain numbers.
template <class... BlocksAndPolicies>
constexpr bool are_types() noexcept {
  return true;
}
template <auto First, auto... Others>
constexpr bool are_types() noexcept {
  return false;
}

/// What a macro's arguments name; only its type is used. For numbers some other pools, which make
/// no further error.
template <template <class...> class Pools, class... BlocksAndPolicies>
Pools<BlocksAndPolicies...> pools_of();
template <template <class...> class Pools, auto First, auto... Others>
Pools<blocks<alignof(std::max_align_t), 1>> pools_of();

}  // namespace detail
}  // namespace ashlar

/// Defines the program's xmalloc family on `pools`, with these specifiers. All of it: a function
/// that is missing would bring libashlar's definitions, and these a second xmalloc. The last
/// function is what C files built with STATIC_POOLS refer to (compat/xallocator.h).
#define ASHLAR_XMALLOC_FUNCTIONS(specifiers, pools)                                       \
  extern "C" {                                                                            \
  specifiers void* xmalloc(::std::size_t size) noexcept { return pools.allocate(size); }  \
  specifiers void xfree(void* block) noexcept { pools.deallocate(block, "xfree"); }       \
  specifiers void xfree_as(void* block, const char* call) noexcept {                      \
    pools.deallocate(block, call);                                                        \
  }                                                                                       \
  specifiers void* xrealloc(void* block, ::std::size_t size) noexcept {                   \
    return pools.reallocate(block, size);                                                 \
  }                                                                                       \
  specifiers void* xcalloc(::std::size_t count, ::std::size_t size) noexcept {            \
    return pools.allocate_zeroed(count, size);                                            \
  }                                                                                       \
  specifiers void* xaligned_alloc(::std::size_t alignment, ::std::size_t size) noexcept { \
    return pools.allocate_aligned(alignment, size);                                       \
  }                                                                                       \
  specifiers ::std::size_t xusable_size(const void* block) noexcept {                     \
    return pools.usable_size(block);                                                      \
  }                                                                                       \
  specifiers int xalloc_asks_handler() noexcept { return pools.asks_handler; }            \
  specifiers void xalloc_init() noexcept { pools.init(); }                                \
  specifiers void xalloc_destroy() noexcept { pools.destroy(); }                          \
  specifiers void xalloc_stats() noexcept { pools.write_stats(); }                        \
  specifiers void STATIC_POOLS_wants_a_cpp_file_that_includes_xallocator_h() noexcept {}  \
  }                                                                                       \
  static_assert(true)

/// The same on an object of `Pools` of the arguments, once in a program.
#define ASHLAR_DEFINE_XMALLOC(Pools, ...)                                                    \
  static_assert(::ashlar::detail::are_types<__VA_ARGS__>(),                                  \
                "each size is written with its count of blocks, as ashlar::blocks<64, 32>, " \
                "and the sizes go from small to large");                                     \
  namespace {                                                                                \
  constinit decltype(::ashlar::detail::pools_of<Pools __VA_OPT__(, ) __VA_ARGS__>())         \
      the_xmalloc_pools;                                                                     \
  }                                                                                          \
  ASHLAR_XMALLOC_FUNCTIONS(, the_xmalloc_pools)
