// adapt/malloc_operators.cpp: every replaceable operator new and delete, for the drop-in library.
// Layer: adapt.
//
// The standard lets a program replace some forms and keep the others: those must then call the
// replaced ones. So only the two basic forms, and their aligned twins, touch the heap; all others call
// them by their public names, through which a program's own definition is found. The sizes that some
// deletes are told are not used: an address tells its class by itself.
//
// Full checks want to know both: which form a program called, and the size. So a form that is made of another asks
// whether they are on: four instructions, and none in the forms that touch the heap.
#include <cstddef>
#include <new>

#include <ashlar/adapt/c_rules.hpp>
#include <ashlar/adapt/cxx_runtime.hpp>
#include <ashlar/adapt/malloc_export.hpp>

// What the compiler refers to in functions that catch; weak for the same reason as in cxx_runtime.hpp.
__asm__(
    ".weak __gxx_personality_v0, __cxa_begin_catch, __cxa_end_catch, _Unwind_Resume, "
    "_ZSt9terminatev");

using namespace ashlar;

namespace {

/// The new_handler protocol: call the handler as long as there is one and the memory is not there. No
/// lock is held while it runs, so it may free, allocate or install another handler.
template <class Attempt>
ASHLAR_COLD void* retry(Attempt attempt) {
  for (;;) {
    const cxx_runtime::new_handler handler = cxx_runtime::installed_new_handler();
    if (handler == nullptr) cxx_runtime::throw_bad_alloc("operator new");
    {
      const runtime::calls_told_as what_they_are(nullptr, nullptr);  // the handler's own calls
      handler();
    }
    if (void* block = attempt(); block != nullptr) return block;
  }
}

/// Returns: what `allocate` returns, or null when it throws: the standard's rule for nothrow forms.
template <class Allocate>
void* null_for_throw(Allocate allocate) noexcept {
  try {
    return allocate();
  } catch (...) {
    return nullptr;
  }
}

/// Returns: what `allocate` returns; the call of operator new in it is told as one of new[].
template <class Allocate>
ASHLAR_COLD void* as_array_new(Allocate allocate) {
  const runtime::calls_told_as array("operator new", "operator new[]");
  return allocate();
}
template <class Deallocate>
ASHLAR_COLD void as_array_delete(Deallocate deallocate) noexcept {
  const runtime::calls_told_as array("operator delete", "operator delete[]");
  deallocate();
}

}  // namespace

using size_type = std::size_t;
using align = std::align_val_t;
using nothrow = std::nothrow_t;

// ---- the basic forms ------------------------------------------------------------------------------

ASHLAR_EXPORT void* operator new(size_type n) {
  void* const block = runtime::allocate(n, "operator new");
  if (block != nullptr) [[likely]]
    return block;
  return retry([=] { return runtime::allocate(n, "operator new"); });
}
ASHLAR_EXPORT void* operator new(size_type n, align a) {
  const auto attempt = [=] {
    return runtime::allocate_aligned(n, static_cast<size_type>(a), "operator new");
  };
  void* const block = attempt();
  return block != nullptr ? block : retry(attempt);
}
ASHLAR_EXPORT void operator delete(void* p) noexcept {
  runtime::deallocate(p, "operator delete");
}
ASHLAR_EXPORT void operator delete(void* p, align) noexcept {
  runtime::deallocate(p, "operator delete");
}

// ---- the forms made of them -----------------------------------------------------------------------

ASHLAR_EXPORT void* operator new[](size_type n) {
  if (runtime::checker.is_on()) [[unlikely]]
    return as_array_new([=] { return operator new(n); });
  return operator new(n);
}
ASHLAR_EXPORT void* operator new[](size_type n, align a) {
  if (runtime::checker.is_on()) [[unlikely]]
    return as_array_new([=] { return operator new(n, a); });
  return operator new(n, a);
}
ASHLAR_EXPORT void* operator new(size_type n, const nothrow&) noexcept {
  return null_for_throw([=] { return operator new(n); });
}
ASHLAR_EXPORT void* operator new[](size_type n, const nothrow&) noexcept {
  return null_for_throw([=] { return operator new[](n); });
}
ASHLAR_EXPORT void* operator new(size_type n, align a, const nothrow&) noexcept {
  return null_for_throw([=] { return operator new(n, a); });
}
ASHLAR_EXPORT void* operator new[](size_type n, align a, const nothrow&) noexcept {
  return null_for_throw([=] { return operator new[](n, a); });
}

ASHLAR_EXPORT void operator delete[](void* p) noexcept {
  if (runtime::checker.is_on()) [[unlikely]]
    return as_array_delete([=] { operator delete(p); });
  operator delete(p);
}
ASHLAR_EXPORT void operator delete[](void* p, align a) noexcept {
  if (runtime::checker.is_on()) [[unlikely]]
    return as_array_delete([=] { operator delete(p, a); });
  operator delete(p, a);
}
ASHLAR_EXPORT void operator delete(void* p, size_type n) noexcept {
  if (runtime::checker.is_on()) [[unlikely]]
    runtime::expect_size(p, n, "operator delete");
  operator delete(p);
}
ASHLAR_EXPORT void operator delete[](void* p, size_type n) noexcept {
  if (runtime::checker.is_on()) [[unlikely]]
    runtime::expect_size(p, n, "operator delete[]");
  operator delete[](p);
}
ASHLAR_EXPORT void operator delete(void* p, size_type n, align a) noexcept {
  if (runtime::checker.is_on()) [[unlikely]]
    runtime::expect_size(p, n, "operator delete");
  operator delete(p, a);
}
ASHLAR_EXPORT void operator delete[](void* p, size_type n, align a) noexcept {
  if (runtime::checker.is_on()) [[unlikely]]
    runtime::expect_size(p, n, "operator delete[]");
  operator delete[](p, a);
}
ASHLAR_EXPORT void operator delete(void* p, const nothrow&) noexcept {
  operator delete(p);
}
ASHLAR_EXPORT void operator delete[](void* p, const nothrow&) noexcept {
  operator delete[](p);
}
ASHLAR_EXPORT void operator delete(void* p, align a, const nothrow&) noexcept {
  operator delete(p, a);
}
ASHLAR_EXPORT void operator delete[](void* p, align a, const nothrow&) noexcept {
  operator delete[](p, a);
}
