// core/config.hpp: every macro of ashlar is touched here, once, and is a constant from here on.
// Layer: core (freestanding).
#pragma once

// First of all, so that an older level says so in one sentence. The headers of classic names that
// are C++17 define ASHLAR_FACE_IS_CXX17 before they include this.
#if __cplusplus < 202002L && !defined(ASHLAR_FACE_IS_CXX17)
#error "ashlar needs C++20: compile with -std=c++20 or later. C programs include <ashlar/ashlar.h>."
// compilers go on after #error, but not without a file
#include <ashlar/core/config.hpp has said why>
#endif

#include <cstddef>
#include <cstdint>

#define ASHLAR_VERSION_MAJOR 0
#define ASHLAR_VERSION_MINOR 1
#define ASHLAR_VERSION_PATCH 0

// Hits are inlined into their callers, misses are kept out of them: tests/golden pins the
// instructions of both. A build that counts branches is the exception: inlined, a branch would be
// counted once for each of its callers. So are our own tests without optimisation under sanitizers,
// where the copies take up to half of the compiler's time. It is not for users: who allocated a
// block would be too many calls away for AddressSanitizer's report (adapt/asan_report.hpp).
#if defined(ASHLAR_COVERAGE) || defined(ASHLAR_CALL_HOT_PATHS)
#define ASHLAR_HOT inline
#define ASHLAR_HOT_LAMBDA
#else
#define ASHLAR_HOT [[gnu::always_inline]] inline
// For a lambda's call operator. Not [[gnu::always_inline]]: behind the parameters it would belong
// to the type.
#define ASHLAR_HOT_LAMBDA __attribute__((always_inline))
#endif
#define ASHLAR_COLD [[gnu::noinline, gnu::cold]]
#define ASHLAR_MISS [[gnu::noinline]]  // behind what a hit calls: every program runs it
// An inline function whose callers all use the copy that the linker keeps.
#ifdef __clang__
#define ASHLAR_ONE_COPY [[gnu::used, gnu::noinline]] inline
#else
#define ASHLAR_ONE_COPY [[gnu::used, gnu::noipa]] inline
#endif

// `throw` is a syntax error under -fno-exceptions, even in code that is never instantiated.
// Where it vanishes, the line after it must end in ashlar_fault. `try` and `catch` are, too:
// without exceptions the block after ASHLAR_CATCH_ALL is never entered.
#if defined(__cpp_exceptions)
#define ASHLAR_THROW(exception) throw exception
#define ASHLAR_TRY try
#define ASHLAR_CATCH_ALL catch (...)
#else
#define ASHLAR_THROW(exception) static_cast<void>(0)
#define ASHLAR_TRY if constexpr (true)
#define ASHLAR_CATCH_ALL else
#endif

// A call that has to be a jump. gcc has no word for it, but makes one at -O2, with which it builds
// us.
#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::musttail)
#define ASHLAR_TAIL_CALL [[clang::musttail]]
#endif
#endif
#if !defined(ASHLAR_TAIL_CALL)
#define ASHLAR_TAIL_CALL
#endif

// gcc and clang each say in their own way that AddressSanitizer watches.
#if defined(__SANITIZE_ADDRESS__)
#define ASHLAR_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASHLAR_ADDRESS_SANITIZER 1
#endif
#endif
#if !defined(ASHLAR_ADDRESS_SANITIZER)
#define ASHLAR_ADDRESS_SANITIZER 0
#endif

// The same for the sanitizers of threads and of what was never written.
#if ASHLAR_ADDRESS_SANITIZER || defined(__SANITIZE_THREAD__)
#define ASHLAR_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ASHLAR_SANITIZED 1
#endif
#endif
#if !defined(ASHLAR_SANITIZED)
#define ASHLAR_SANITIZED 0
#endif

namespace ashlar {

namespace detail {
/// Effects: tells the processor that this is a spin loop (saves power, and a mis-speculation at the
/// loop's end); nothing where the processor has no such hint.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__ARM_ARCH) && __ARM_ARCH >= 7)
  asm volatile("yield");
#endif
}
}  // namespace detail

/// True where exceptions exist; without them a policy that would throw ends in ashlar_fault.
#if defined(__cpp_exceptions)
inline constexpr bool has_exceptions = true;
#else
inline constexpr bool has_exceptions = false;
#endif

/// True where there is all of the standard library; with -ffreestanding only what needs no system,
/// no new-handler.
inline constexpr bool hosted = __STDC_HOSTED__ != 0;

/// True where AddressSanitizer watches.
inline constexpr bool address_sanitizer = ASHLAR_ADDRESS_SANITIZER != 0;

/// True where a sanitizer that has a malloc of its own watches what is compiled.
inline constexpr bool is_sanitized = ASHLAR_SANITIZED != 0;

/// True where the build asks for Valgrind's client requests, which needs its headers (CMake:
/// -DASHLAR_VALGRIND=ON).
#if defined(ASHLAR_VALGRIND)
inline constexpr bool memcheck_requests = true;
#else
inline constexpr bool memcheck_requests = false;
#endif

/// True where the process heap's size classes can be loaded when it starts: in the drop-in library,
/// for which CMake says so (runtime/process_classes.hpp).
#if defined(ASHLAR_LOADABLE_CLASSES)
inline constexpr bool classes_are_loadable = true;
#else
inline constexpr bool classes_are_loadable = false;
#endif

/// True where each lock of the library looks at the order in which its thread takes them (CMake:
/// -DASHLAR_CHECK_LOCKS=ON; core/lock_order.hpp).
#if defined(ASHLAR_CHECK_LOCKS)
inline constexpr bool locks_are_checked = true;
#else
inline constexpr bool locks_are_checked = false;
#endif

/// True in the hardened drop-in library: what ASHLAR_HARDEN is where the environment does not say.
#if defined(ASHLAR_HARDENED)
inline constexpr bool hardened_by_default = true;
#else
inline constexpr bool hardened_by_default = false;
#endif

/// True in the drop-in library.
inline constexpr bool is_drop_in = classes_are_loadable;

/// The heap's unit of memory is 2^heap_page_shift bytes. It must be a multiple of the system's
/// page: always 4 KiB on x86, and none in WebAssembly; elsewhere systems use 4, 16 or 64 KiB, so 64
/// KiB fits them all, at the price of more slack in blocks above the classes. A build may choose
/// (CMake: -DASHLAR_HEAP_PAGE_SHIFT=16).
#if defined(ASHLAR_HEAP_PAGE_SHIFT)
inline constexpr unsigned heap_page_shift = ASHLAR_HEAP_PAGE_SHIFT;
#elif defined(__x86_64__) || defined(__i386__) || defined(__wasm__)
inline constexpr unsigned heap_page_shift = 12;
#else
inline constexpr unsigned heap_page_shift = 16;
#endif
static_assert(heap_page_shift >= 12 && heap_page_shift <= 16);

/// True where one instruction adds to a value in memory.
#if defined(__x86_64__) || defined(__i386__)
inline constexpr bool adds_in_memory = true;
#else
inline constexpr bool adds_in_memory = false;
#endif

}  // namespace ashlar
