// dropin/dlopen_deepbind.cpp: the drop-in library's dlopen, which takes RTLD_DEEPBIND out, and its
// dlsym, which finds our functions also where somebody looks for them in the system's libraries.
// Layer: dropin. Built into libashlar-malloc.so only: a program that links ashlar-malloc.o
// statically has no next dlopen to call.
//
// A module that is opened with that flag looks names up in itself and its own libraries first. So
// its malloc and free are the C library's, while the program's are ours, and a block that crosses
// ends the process. docs/decisions/0002 tells what else was thought of.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include <dlfcn.h>

#include <ashlar/dropin/export.hpp>
#include <ashlar/os/loaded_module.hpp>
#include <ashlar/os/next_function.hpp>
#include <ashlar/runtime/drop_in.hpp>
#include <ashlar/runtime/settings.hpp>

using namespace ashlar;

namespace {

using dlopen_function = void*(const char*, int)ASHLAR_C_FUNCTION;

/// Returns: the dlopen that the process would have without this library; null: there is none.
dlopen_function* next_dlopen() noexcept {
  static constinit std::atomic<dlopen_function*> known{nullptr};
  dlopen_function* next = known.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = reinterpret_cast<dlopen_function*>(os::next_function("dlopen"));
    known.store(next, std::memory_order_relaxed);
  }
  return next;
}

/// Returns: whether ASHLAR_DEEPBIND says that the flag stays. The environment is read once.
bool keeps_deepbind() noexcept {
  static constinit std::atomic<int> known{-1};
  int keeps = known.load(std::memory_order_relaxed);
  if (keeps < 0) {
    char** const environment = runtime::process_environment();
    keeps = environment != nullptr && runtime::read_word(environment, "ASHLAR_DEEPBIND",
                                                         {"drop", "keep"}, "drop or keep") != 0;
    known.store(keeps, std::memory_order_relaxed);
  }
  return keeps != 0;
}

}  // namespace

/// The C library takes its caller's address to find the caller's RUNPATH, $ORIGIN and namespace. So
/// the call of the next dlopen has to be a jump, which leaves our caller's return address in place.
extern "C" ASHLAR_EXPORT void* dlopen(const char* file, int mode) ASHLAR_C_FUNCTION {
  dlopen_function* const next = next_dlopen();
  if (next == nullptr) [[unlikely]]
    return nullptr;
  if ((mode & RTLD_DEEPBIND) != 0 && !keeps_deepbind()) mode &= ~RTLD_DEEPBIND;
  ASHLAR_TAIL_CALL return next(file, mode);
}

#if defined(__x86_64__) && defined(__LP64__) && defined(__GLIBC__)
namespace {

using dlsym_function = void*(void*, const char*)ASHLAR_C_FUNCTION;

/// Returns: the dlsym that the process would have without this library; null: there is none.
dlsym_function* next_dlsym() noexcept {
  static constinit std::atomic<dlsym_function*> known{nullptr};
  dlsym_function* next = known.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = reinterpret_cast<dlsym_function*>(os::next_function("dlsym"));
    known.store(next, std::memory_order_relaxed);
  }
  return next;
}

bool are_in_one_module(const void* a, const void* b) noexcept {
  return os::module_around(a).begin == os::module_around(b).begin;
}

/// What the C library and this one have. Other names of the C library lead to what they are: who
/// wraps them calls them.
bool is_of_malloc(std::string_view name) noexcept {
  static constexpr std::string_view names[] = {"malloc",
                                               "free",
                                               "calloc",
                                               "realloc",
                                               "reallocarray",
                                               "posix_memalign",
                                               "aligned_alloc",
                                               "memalign",
                                               "valloc",
                                               "pvalloc",
                                               "cfree",
                                               "malloc_usable_size",
                                               "malloc_trim",
                                               "malloc_info",
                                               "malloc_stats",
                                               "mallinfo",
                                               "mallinfo2",
                                               "mallopt",
                                               "malloc_get_state",
                                               "malloc_set_state",
                                               "__libc_malloc",
                                               "__libc_free",
                                               "__libc_calloc",
                                               "__libc_realloc",
                                               "__libc_valloc",
                                               "__libc_memalign",
                                               "__libc_pvalloc",
                                               "__libc_mallinfo",
                                               "__libc_mallopt"};
  return std::ranges::find(names, name) != std::ranges::end(names);
}

/// Operators new and delete, by the ABI's names. (starts_with may throw where it is not inlined.)
bool is_of_operators(const char* name) noexcept {
  return std::ranges::any_of(std::to_array({"_Znw", "_Zna", "_Zdl", "_Zda"}),
                             [=](const char* begin) { return std::strncmp(name, begin, 4) == 0; });
}

/// Returns: whether `found` is the C library's function of malloc's family, or the C++ library's
/// operator, which is made of malloc: checks would take its block for one of malloc's.
bool is_of_system(const void* found, const char* name, dlsym_function* next) noexcept {
  if (is_of_operators(name)) return os::is_cxx_library(os::path_of(found));
  return is_of_malloc(name) && are_in_one_module(found, next(RTLD_NEXT, "__libc_start_main"));
}

/// Not among what every process runs. Returns: what `library` has under the name; but where that is
/// the system's and the process has ours instead, ours, or the program's jump to it.
[[gnu::noinline]] void* find_in(void* library, const char* name, dlsym_function* next) noexcept {
  void* const found = next(library, name);
  // Where there is none, dlerror says so: another look-up would take that back.
  if (found == nullptr || name == nullptr || !is_of_system(found, name, next)) return found;
  void* const first = next(RTLD_DEFAULT, name);
  if (first == found || runtime::malloc_is_anothers) return found;
  const void* const own = reinterpret_cast<const void*>(&next_dlsym);
  return are_in_one_module(first, own) || os::is_only_referred_to(first) ? first : found;
}

}  // namespace

/// One of malloc's names, or an operator's, that is looked up in the C or C++ library itself, or in
/// a library that has it, as those do that call C from another language, must not lead to a second
/// malloc. What depends on the caller is a jump, as above.
extern "C" ASHLAR_EXPORT void* dlsym(void* library, const char* name) ASHLAR_C_FUNCTION {
  dlsym_function* const next = next_dlsym();
  if (next == nullptr) [[unlikely]]
    return nullptr;
  if (library != RTLD_DEFAULT && library != RTLD_NEXT) return find_in(library, name, next);
  ASHLAR_TAIL_CALL return next(library, name);
}
#endif
