/* compat/xallocator.h: the classic xallocator (C99 and C++17).
 *
 * Six functions stand for malloc's: xmalloc, xfree, xrealloc, xalloc_stats, xalloc_init and
 * xalloc_destroy; <ashlar/adapt/xmalloc.h> says what each does, and has three more (xcalloc,
 * xaligned_alloc, xusable_size). XALLOCATOR in a class gives the class, and all that derive from
 * it, operator new and delete over them.
 *
 * The mode is chosen by what the program links, and no other file of it changes:
 *   default       ashlar's process heap. No mode, size or count has to be chosen.
 *   heap blocks   one source file has XALLOCATOR_HEAP_BLOCKS(...)   (xallocator_heap_blocks.h)
 *   static pools  one source file has XALLOCATOR_STATIC_POOLS(...)  (xallocator_static_pools.h),
 *                 or the program is built with STATIC_POOLS (xallocator_document_pools.h)
 *
 * Locks: the default mode has none to replace. Each thread allocates from a cache of its own; what
 * is shared is behind ashlar::os::mutex, and a port to another system is a port of ashlar/os/. In
 * the two other modes the lock is an argument, and lock_init, lock_get, lock_release and
 * lock_destroy may be the program's own (<ashlar/compat/user_locks.hpp>).
 */
#ifndef ASHLAR_COMPAT_XALLOCATOR_H
#define ASHLAR_COMPAT_XALLOCATOR_H

#include "needs_cxx17.h"

#include <ashlar/adapt/xmalloc.h>

#include "DataTypes.h"

#if defined(STATIC_POOLS) && !defined(__cplusplus)
/* The pools are in a C++ file. Without one the program would use the heap, so it does not link. */
void STATIC_POOLS_wants_a_cpp_file_that_includes_xallocator_h(void);
static void (*const xallocator_static_pools)(void)
    __attribute__((used)) = STATIC_POOLS_wants_a_cpp_file_that_includes_xallocator_h;
#endif

#if defined(MAX_ALLOCATORS) && !defined(STATIC_POOLS)
#pragma message( \
    "xallocator.h: MAX_ALLOCATORS means nothing without STATIC_POOLS: the heap has all sizes")
#endif

/* Automatic xalloc_init and xalloc_destroy, in C++: on, unless AUTOMATIC_XALLOCATOR_INIT_DESTROY is
 * defined as 0 before this header or on the command line. (Defined as nothing, as classic code
 * does, it is on.) Off with -ffreestanding: firmware need not run static constructors. In C they
 * are called by hand, or not at all: no mode here needs them before xmalloc, but for a program's
 * own lock_init. */
#ifndef AUTOMATIC_XALLOCATOR_INIT_DESTROY
#define AUTOMATIC_XALLOCATOR_INIT_DESTROY __STDC_HOSTED__
#endif

#ifdef __cplusplus

#include <cstddef>
#include <new>

#ifndef ASHLAR_FACE_IS_CXX17
#define ASHLAR_FACE_IS_CXX17 /* for core/config.hpp */
#endif
#include <ashlar/adapt/class_operators.hpp>

/* 0 gives -1, 1 gives -2, and nothing gives +1. */
#if (0 - AUTOMATIC_XALLOCATOR_INIT_DESTROY - 1) != -1

/// Calls xalloc_init when the first static object of its kind is made and xalloc_destroy when the
/// last one ends: one object a translation unit, ahead of all statics that come after this header.
/// Thread-safety: as of static initialisation, one thread.
class XallocInitDestroy {
 public:
  XallocInitDestroy() noexcept {
    if (refCount++ == 0) xalloc_init();
  }
  ~XallocInitDestroy() {
    if (--refCount == 0) xalloc_destroy();
  }
  XallocInitDestroy(const XallocInitDestroy&) = delete;
  XallocInitDestroy& operator=(const XallocInitDestroy&) = delete;

 private:
  static inline int refCount = 0;
};
static const XallocInitDestroy xallocInitDestroy;

#endif

/* In a class, anywhere: every form of operator new and delete, single and array, over xmalloc and
 * xfree. Ends in a public section, as it always did. Derived classes inherit them, larger and
 * over-aligned ones too; a class that is deleted through a base needs a virtual destructor there,
 * as with any heap. A class with two bases that have the macro needs it itself, else its new is
 * ambiguous. The placement forms are declared because a class's own operator new hides the global
 * ones. */
#define XALLOCATOR          \
 public:                    \
  ASHLAR_XALLOCATOR_FORMS() \
  ASHLAR_XALLOCATOR_FORMS([])

#define ASHLAR_XALLOCATOR_FORMS(array)                                                     \
  static void* operator new array(::std::size_t n) {                                       \
    return ::ashlar::xmalloc_operators::allocate(n);                                       \
  }                                                                                        \
  static void* operator new array(::std::size_t n, ::std::align_val_t a) {                 \
    return ::ashlar::xmalloc_operators::allocate(n, a);                                    \
  }                                                                                        \
  static void* operator new array(::std::size_t n, const ::std::nothrow_t & t) noexcept {  \
    return ::ashlar::xmalloc_operators::allocate(n, t);                                    \
  }                                                                                        \
  static void* operator new array(::std::size_t n, ::std::align_val_t a,                   \
                                  const ::std::nothrow_t & t) noexcept {                   \
    return ::ashlar::xmalloc_operators::allocate(n, a, t);                                 \
  }                                                                                        \
  static void* operator new array(::std::size_t, void* place) noexcept { return place; }   \
  static void operator delete array(void* p) noexcept {                                    \
    ::ashlar::xmalloc_operators::deallocate(p, "delete" #array);                           \
  }                                                                                        \
  static void operator delete array(void* p, ::std::size_t) noexcept {                     \
    ::ashlar::xmalloc_operators::deallocate(p, "delete" #array);                           \
  }                                                                                        \
  static void operator delete array(void* p, ::std::align_val_t) noexcept {                \
    ::ashlar::xmalloc_operators::deallocate(p, "delete" #array);                           \
  }                                                                                        \
  static void operator delete array(void* p, ::std::size_t, ::std::align_val_t) noexcept { \
    ::ashlar::xmalloc_operators::deallocate(p, "delete" #array);                           \
  }                                                                                        \
  static void operator delete array(void* p, const ::std::nothrow_t&) noexcept {           \
    ::ashlar::xmalloc_operators::deallocate(p, "delete" #array);                           \
  }                                                                                        \
  static void operator delete array(void* p, ::std::align_val_t,                           \
                                    const ::std::nothrow_t&) noexcept {                    \
    ::ashlar::xmalloc_operators::deallocate(p, "delete" #array);                           \
  }                                                                                        \
  static void operator delete array(void*, void*) noexcept {}

#if defined(STATIC_POOLS) && !defined(ASHLAR_OWN_POOLS)
#if __cplusplus < 202002L
#error "STATIC_POOLS needs C++20: compile with -std=c++20"
#include "-std=c++20" /* is not there: the compiler stops */
#else
#include "xallocator_document_pools.h"
#endif
#endif

#endif /* __cplusplus */
#endif
