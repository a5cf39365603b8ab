// dropin/cxx_runtime.cpp: finding the program's C++ library (Itanium C++ ABI).
// Layer: dropin. The names below are the ABI's; libstdc++, libc++abi and libcxxrt share them.
#include <initializer_list>

#include <dlfcn.h>

#include <ashlar/core/fault.hpp>
#include <ashlar/dropin/cxx_runtime.hpp>

// Weak: null where no C++ library was loaded with the program.
extern "C" {
[[gnu::weak]] void* __cxa_allocate_exception(std::size_t) noexcept;
[[gnu::weak]] void __cxa_throw(void*, void*, void (*)(void*));
[[gnu::weak]] extern void* bad_alloc_vtable[] __asm__("_ZTVSt9bad_alloc");
[[gnu::weak]] extern char bad_alloc_type __asm__("_ZTISt9bad_alloc");
[[gnu::weak]] void destroy_bad_alloc(void*) __asm__("_ZNSt9bad_allocD1Ev");
[[gnu::weak]] ashlar::cxx_runtime::new_handler get_new_handler() noexcept
    __asm__("_ZSt15get_new_handlerv");
}
namespace ashlar::cxx_runtime {
namespace {

/// Returns: `linked`, or when that is null the symbol of a C++ library that was loaded later, by a
/// plugin perhaps, and is then in nobody's scope but its own.
template <class Symbol>
Symbol* find(Symbol* linked, const char* name) noexcept {
  if (linked != nullptr) return linked;
  for (const char* library : {"libstdc++.so.6", "libc++abi.so.1", "libcxxrt.so.1"}) {
    void* const loaded = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (loaded == nullptr) continue;
    void* const symbol = ::dlsym(loaded, name);
    ::dlclose(loaded);
    if (symbol != nullptr) return reinterpret_cast<Symbol*>(symbol);
  }
  return nullptr;
}

}  // namespace

new_handler installed_new_handler() noexcept {
  auto* const get = find(&get_new_handler, "_ZSt15get_new_handlerv");
  return get == nullptr ? nullptr : get();
}

void throw_bad_alloc(const char* call) {
  auto* const allocate = find(&__cxa_allocate_exception, "__cxa_allocate_exception");
  auto* const raise = find(&__cxa_throw, "__cxa_throw");
  auto* const type = find(&bad_alloc_type, "_ZTISt9bad_alloc");
  auto* const destroy = find(&destroy_bad_alloc, "_ZNSt9bad_allocD1Ev");
  auto* const vtable = find(&bad_alloc_vtable[0], "_ZTVSt9bad_alloc");
  if (allocate != nullptr && raise != nullptr && type != nullptr && vtable != nullptr) {
    // A bad_alloc is an object with nothing but its virtual table, which begins after two words.
    auto** const exception = static_cast<void***>(allocate(sizeof(void*)));
    *exception = vtable + 2;
    raise(exception, type, destroy);
  }
  ashlar_fault({.kind = fault_kind::exhausted, .call = call});
}

}  // namespace ashlar::cxx_runtime
