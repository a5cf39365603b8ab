// dropin/operators.cpp: every replaceable operator new and delete, for the drop-in library.
// Layer: dropin.
//
// The standard lets a program replace some forms and keep the others: those must then call the
// replaced ones. So the two basic forms and their aligned twins serve; all others call them by
// their public names, through which a program's own definition is found. Where the program has
// replaced none, the others need not call: their hits are the basic form's. The sizes that some
// deletes are told are not used: an address tells its class by itself.
//
// A form that is made of another finds no page and no size that it may hit for (operator_classes)
// where its hit would be wrong: an operator is replaced, or every call misses, as with full checks.
// These want to know which form a program called, and the size.
#include <cstddef>
#include <new>

#include <ashlar/adapt/c_rules.hpp>
#include <ashlar/dropin/cxx_runtime.hpp>
#include <ashlar/dropin/export.hpp>
#include <ashlar/runtime/drop_in.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/sampling.hpp>

using namespace ashlar;

namespace {

/// The new_handler protocol: call the handler as long as there is one and the memory is not there.
/// No lock is held while it runs, so it may free, allocate or install another handler.
template <class Attempt>
ASHLAR_COLD void* retry(Attempt attempt) {
  for (;;) {
    const cxx_runtime::new_handler handler = cxx_runtime::installed_new_handler();
    if (handler == nullptr) cxx_runtime::throw_bad_alloc("operator new");
    {
      const runtime::call_alias what_they_are(nullptr, nullptr);  // the handler's own calls
      handler();
    }
    if (void* block = attempt(); block != nullptr) return block;
  }
}

// What a hit cannot do goes to a function with the operator's own arguments in their order. So none
// of them moves before the jump, and the hit takes as many instructions as malloc's or free's.

/// Returns: a block of `n` bytes, or throws: without the hit path.
ASHLAR_COLD void* new_slow(std::size_t n) {
  const auto attempt = [=] {
    return runtime::malloc_is_anothers ? std::malloc(n != 0 ? n : 1)
                                       : runtime::allocate_slow(n, "operator new");
  };
  void* const block = attempt();
  return block != nullptr ? block : retry(attempt);
}
/// While allocations are sampled every new comes here: without a frame for most.
ASHLAR_COLD void* new_missed(std::size_t n) {
  void* const block = runtime::hit_in_gap(n);
  return block != nullptr ? block : new_slow(n);
}
ASHLAR_COLD void* new_missed(std::size_t n, std::align_val_t a) {
  const auto attempt = [=, alignment = static_cast<std::size_t>(a)]() -> void* {
    if (!runtime::malloc_is_anothers)
      return runtime::allocate_aligned(n, alignment, "operator new");
    std::size_t whole = 0;
    const bool fits = align_up_checked(n != 0 ? n : 1, alignment, whole);
    return fits ? std::aligned_alloc(alignment, whole) : nullptr;
  };
  void* const block = attempt();
  return block != nullptr ? block : retry(attempt);
}
ASHLAR_COLD void delete_missed(void* p) noexcept {
  if (runtime::malloc_is_anothers) return std::free(p);
  runtime::deallocate_slow(p, "operator delete");
}
ASHLAR_HOT void delete_basic(void* p) noexcept {
  if (!runtime::process_hits::try_deallocate(runtime::tops(), p)) [[unlikely]]
    delete_missed(p);
}
/// Returns: as hit_in_gap, for an operator that is made of another, where its hit would be right.
template <class... Align>
[[nodiscard]] ASHLAR_HOT void* made_in_gap(std::size_t n, Align... a) noexcept {
  if (n >= runtime::own_hits.sizes_of_made_forms) return nullptr;
  return runtime::hit_in_gap(n, static_cast<std::size_t>(a)...);
}

/// Full checks know the call of operator new in it as one of new[], and that of delete as one of
/// delete[].
template <class... Align>
ASHLAR_COLD void* new_array_missed(std::size_t n, Align... a) {
  if (void* const block = made_in_gap(n, a...); block != nullptr) return block;
  return runtime::call_under_alias("operator new", "operator new[]",
                                   [=] { return operator new(n, a...); });
}
template <class... Align>
ASHLAR_COLD void delete_array_missed(void* p, Align... a) noexcept {
  runtime::call_under_alias("operator delete", "operator delete[]",
                            [=] { operator delete(p, a...); });
}
/// Full checks compare the size first, of blocks that are this library's.
bool expect_size(void* p, std::size_t n, const char* call) noexcept {
  return runtime::malloc_is_anothers || runtime::expect_size(p, n, call);
}
template <class... Align>
ASHLAR_COLD void delete_sized_missed(void* p, std::size_t n, Align... a) noexcept {
  if (expect_size(p, n, "operator delete")) operator delete(p, a...);
}
template <class... Align>
ASHLAR_COLD void delete_array_sized_missed(void* p, std::size_t n, Align... a) noexcept {
  if (expect_size(p, n, "operator delete[]")) operator delete[](p, a...);
}
/// Returns: null where the form that throws does: the standard's rule for nothrow forms.
template <class... Align>
ASHLAR_COLD void* new_nothrow_missed(std::size_t n, Align... a) noexcept {
  if (void* const block = made_in_gap(n, a...); block != nullptr) return block;
  try {
    return operator new(n, a...);
  } catch (...) {
    return nullptr;
  }
}
template <class... Align>
ASHLAR_COLD void* new_array_nothrow_missed(std::size_t n, Align... a) noexcept {
  if (void* const block = made_in_gap(n, a...); block != nullptr) return block;
  try {
    return operator new[](n, a...);
  } catch (...) {
    return nullptr;
  }
}
template <class... Align>
ASHLAR_COLD void delete_nothrow_missed(void* p, Align... a) noexcept {
  operator delete(p, a...);
}
template <class... Align>
ASHLAR_COLD void delete_array_nothrow_missed(void* p, Align... a) noexcept {
  operator delete[](p, a...);
}

/// The hit of an operator that is made of others: that of the basic form, where this library serves
/// all.
[[nodiscard]] ASHLAR_HOT bool try_delete(void* block) noexcept {
  return c_rules::hits::try_deallocate(runtime::tops(), runtime::own_hits.end_of_made_forms, block);
}
[[nodiscard]] ASHLAR_HOT void* try_new(std::size_t n) noexcept {
  return c_rules::hits::try_allocate(runtime::tops(), runtime::own_hits.sizes_of_made_forms, n);
}
[[nodiscard]] ASHLAR_HOT void* try_new(std::size_t n, std::align_val_t a) noexcept {
  return c_rules::hits::try_allocate_aligned(runtime::tops(), runtime::own_hits.sizes_of_made_forms,
                                             n, static_cast<std::size_t>(a));
}

}  // namespace

using size_type = std::size_t;
using align = std::align_val_t;
using nothrow = std::nothrow_t;

// ---- the forms that others are made of --------------------------------------------------------

// The operators are second names of these functions, which nobody else can define. So an operator's
// address tells whether the program has replaced it.
extern "C" {
[[gnu::visibility("hidden")]] ASHLAR_AT_LINE void* ashlar_own_new(size_type n) {
  void* const block = c_rules::hits::try_allocate(runtime::tops(), n);
  return block != nullptr ? block : new_missed(n);
}
[[gnu::visibility("hidden")]] void* ashlar_own_new_aligned(size_type n, align a) {
  void* const block =
      c_rules::hits::try_allocate_aligned(runtime::tops(), n, static_cast<size_type>(a));
  return block != nullptr ? block : new_missed(n, a);
}
[[gnu::visibility("hidden")]] ASHLAR_AT_LINE void* ashlar_own_new_array(size_type n) {
  void* const block = try_new(n);
  return block != nullptr ? block : new_array_missed(n);
}
[[gnu::visibility("hidden")]] void* ashlar_own_new_array_aligned(size_type n, align a) {
  void* const block = try_new(n, a);
  return block != nullptr ? block : new_array_missed(n, a);
}
[[gnu::visibility("hidden")]] ASHLAR_AT_LINE void ashlar_own_delete(void* p) noexcept {
  delete_basic(p);
}
[[gnu::visibility("hidden")]] void ashlar_own_delete_aligned(void* p, align) noexcept {
  delete_basic(p);
}
[[gnu::visibility("hidden")]] ASHLAR_AT_LINE void ashlar_own_delete_array(void* p) noexcept {
  if (!try_delete(p)) [[unlikely]]
    delete_array_missed(p);
}
[[gnu::visibility("hidden")]] void ashlar_own_delete_array_aligned(void* p, align a) noexcept {
  if (!try_delete(p)) [[unlikely]]
    delete_array_missed(p, a);
}
}  // extern "C"

ASHLAR_EXPORT [[gnu::alias("ashlar_own_new")]] void* operator new(size_type);
ASHLAR_EXPORT [[gnu::alias("ashlar_own_new_aligned")]] void* operator new(size_type, align);
ASHLAR_EXPORT [[gnu::alias("ashlar_own_new_array")]] void* operator new[](size_type);
ASHLAR_EXPORT [[gnu::alias("ashlar_own_new_array_aligned")]] void* operator new[](size_type, align);
ASHLAR_EXPORT [[gnu::alias("ashlar_own_delete")]] void operator delete(void*) noexcept;
ASHLAR_EXPORT [[gnu::alias("ashlar_own_delete_aligned")]] void operator delete(void*,
                                                                               align) noexcept;
ASHLAR_EXPORT [[gnu::alias("ashlar_own_delete_array")]] void operator delete[](void*) noexcept;
ASHLAR_EXPORT [[gnu::alias("ashlar_own_delete_array_aligned")]] void operator delete[](
    void*, align) noexcept;

bool ashlar::runtime::serves_all_operators() noexcept {
  const auto is = [](auto* one, auto* other) {
    __asm__("" : "+r"(one));  // compilers take two functions' addresses to differ
    return one == other;
  };
  return !malloc_is_anothers &&
         is(static_cast<void* (*)(size_type)>(&operator new), &ashlar_own_new) &&
         is(static_cast<void* (*)(size_type, align)>(&operator new), &ashlar_own_new_aligned) &&
         is(static_cast<void* (*)(size_type)>(&operator new[]), &ashlar_own_new_array) &&
         is(static_cast<void* (*)(size_type, align)>(&operator new[]),
            &ashlar_own_new_array_aligned) &&
         is(static_cast<void (*)(void*) noexcept>(&operator delete), &ashlar_own_delete) &&
         is(static_cast<void (*)(void*, align) noexcept>(&operator delete),
            &ashlar_own_delete_aligned) &&
         is(static_cast<void (*)(void*) noexcept>(&operator delete[]), &ashlar_own_delete_array) &&
         is(static_cast<void (*)(void*, align) noexcept>(&operator delete[]),
            &ashlar_own_delete_array_aligned);
}

// ---- the forms made of them -------------------------------------------------------------------

ASHLAR_EXPORT void* operator new(size_type n, const nothrow&) noexcept {
  void* const block = try_new(n);
  return block != nullptr ? block : new_nothrow_missed(n);
}
ASHLAR_EXPORT void* operator new[](size_type n, const nothrow&) noexcept {
  void* const block = try_new(n);
  return block != nullptr ? block : new_array_nothrow_missed(n);
}
ASHLAR_EXPORT void* operator new(size_type n, align a, const nothrow&) noexcept {
  void* const block = try_new(n, a);
  return block != nullptr ? block : new_nothrow_missed(n, a);
}
ASHLAR_EXPORT void* operator new[](size_type n, align a, const nothrow&) noexcept {
  void* const block = try_new(n, a);
  return block != nullptr ? block : new_array_nothrow_missed(n, a);
}

ASHLAR_EXPORT ASHLAR_AT_LINE void operator delete(void* p, size_type n) noexcept {
  if (!try_delete(p)) [[unlikely]]
    delete_sized_missed(p, n);
}
ASHLAR_EXPORT ASHLAR_AT_LINE void operator delete[](void* p, size_type n) noexcept {
  if (!try_delete(p)) [[unlikely]]
    delete_array_sized_missed(p, n);
}
ASHLAR_EXPORT void operator delete(void* p, size_type n, align a) noexcept {
  if (!try_delete(p)) [[unlikely]]
    delete_sized_missed(p, n, a);
}
ASHLAR_EXPORT void operator delete[](void* p, size_type n, align a) noexcept {
  if (!try_delete(p)) [[unlikely]]
    delete_array_sized_missed(p, n, a);
}
ASHLAR_EXPORT void operator delete(void* p, const nothrow&) noexcept {
  if (!try_delete(p)) [[unlikely]]
    delete_nothrow_missed(p);
}
ASHLAR_EXPORT void operator delete[](void* p, const nothrow&) noexcept {
  if (!try_delete(p)) [[unlikely]]
    delete_array_nothrow_missed(p);
}
ASHLAR_EXPORT void operator delete(void* p, align a, const nothrow&) noexcept {
  if (!try_delete(p)) [[unlikely]]
    delete_nothrow_missed(p, a);
}
ASHLAR_EXPORT void operator delete[](void* p, align a, const nothrow&) noexcept {
  if (!try_delete(p)) [[unlikely]]
    delete_array_nothrow_missed(p, a);
}
