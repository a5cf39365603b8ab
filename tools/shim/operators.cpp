// tools/shim/operators.cpp: every replaceable operator new and delete, recorded. Layer: shim.
//
// Each forwards to the next definition of its own name, so that an allocator's own operators are what runs. Where there is
// none (a C program that loads a C++ library for itself only), it is malloc and free; then there is nothing to throw with.
#include <cstddef>
#include <cstdlib>
#include <new>

#include <unistd.h>

#include "tools/shim/next_allocator.hpp"

// What the compiler refers to in functions that exceptions pass through; the program has it if it throws.
__asm__(".weak __gxx_personality_v0, _Unwind_Resume");

#define ASHLAR_EXPORT [[gnu::visibility("default")]]

using namespace ashlar::shim;
using ashlar::trace::event_kind;

static_assert(sizeof(std::size_t) == sizeof(unsigned long),
              "the mangled names below say m for a size");

namespace {

/// The next definition, found at its first use.
template <class Function>
class next_operator {
 public:
  constexpr explicit next_operator(const char* mangled) : name_(mangled) {}
  Function* get() {
    Function* found = __atomic_load_n(&found_, __ATOMIC_RELAXED);
    if (found == nullptr) [[unlikely]] {
      found = reinterpret_cast<Function*>(find_operator(name_));
      __atomic_store_n(&found_, found, __ATOMIC_RELAXED);
    }
    return found;
  }

 private:
  const char* name_;
  Function* found_ = nullptr;
};

[[noreturn, gnu::cold]] void give_up() {
  static constexpr char text[] =
      "ashlar record: operator new has no memory, and the program has no C++ library to say so\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
  std::abort();
}

template <class... Rest>
void* record_new(event_kind kind, next_operator<void*(std::size_t, Rest...)>& next_new,
                 std::size_t alignment, std::size_t size, Rest... rest) {
  if (!ready()) return boot_allocate(size, alignment);
  const outer_call outer;
  auto* const function = next_new.get();
  void* const block = function != nullptr ? function(size, rest...)
                      : alignment != 0    ? next.memalign(alignment, size)
                                          : next.malloc(size != 0 ? size : 1);
  if (function == nullptr && block == nullptr) give_up();
  if (outer.is_recorded() && block != nullptr) put(kind, block, now(), size, alignment);
  return block;
}

template <class... Rest>
void record_delete(event_kind kind, next_operator<void(void*, Rest...)>& next_delete, void* block,
                   Rest... rest) {
  if (block == nullptr || is_boot_block(block) || !ready()) return;
  const outer_call outer;
  if (outer.is_recorded()) put_death(kind, block);
  auto* const function = next_delete.get();
  if (function != nullptr) return function(block, rest...);
  next.free(block);
}

using size_type = std::size_t;
using align = std::align_val_t;
using nothrow = const std::nothrow_t&;

constinit next_operator<void*(size_type)> new_plain("_Znwm"), new_array("_Znam");
constinit next_operator<void*(size_type, nothrow)> new_nothrow("_ZnwmRKSt9nothrow_t"),
    new_array_nothrow("_ZnamRKSt9nothrow_t");
constinit next_operator<void*(size_type, align)> new_aligned("_ZnwmSt11align_val_t"),
    new_array_aligned("_ZnamSt11align_val_t");
constinit next_operator<void*(size_type, align, nothrow)> new_aligned_nothrow(
    "_ZnwmSt11align_val_tRKSt9nothrow_t"),
    new_array_aligned_nothrow("_ZnamSt11align_val_tRKSt9nothrow_t");
constinit next_operator<void(void*)> delete_plain("_ZdlPv"), delete_array("_ZdaPv");
constinit next_operator<void(void*, size_type)> delete_sized("_ZdlPvm"),
    delete_array_sized("_ZdaPvm");
constinit next_operator<void(void*, nothrow)> delete_nothrow("_ZdlPvRKSt9nothrow_t"),
    delete_array_nothrow("_ZdaPvRKSt9nothrow_t");
constinit next_operator<void(void*, align)> delete_aligned("_ZdlPvSt11align_val_t"),
    delete_array_aligned("_ZdaPvSt11align_val_t");
constinit next_operator<void(void*, size_type, align)> delete_sized_aligned(
    "_ZdlPvmSt11align_val_t"),
    delete_array_sized_aligned("_ZdaPvmSt11align_val_t");
constinit next_operator<void(void*, align, nothrow)> delete_aligned_nothrow(
    "_ZdlPvSt11align_val_tRKSt9nothrow_t"),
    delete_array_aligned_nothrow("_ZdaPvSt11align_val_tRKSt9nothrow_t");

constexpr event_kind one = event_kind::by_new;
constexpr event_kind array = event_kind::by_new_array;
constexpr event_kind one_gone = event_kind::from_delete;
constexpr event_kind array_gone = event_kind::from_delete_array;

size_type number(align a) { return static_cast<size_type>(a); }

}  // namespace

ASHLAR_EXPORT void* operator new(size_type n) { return record_new(one, new_plain, 0, n); }
ASHLAR_EXPORT void* operator new[](size_type n) { return record_new(array, new_array, 0, n); }
ASHLAR_EXPORT void* operator new(size_type n, nothrow t) noexcept {
  return record_new<nothrow>(one, new_nothrow, 0, n, t);
}
ASHLAR_EXPORT void* operator new[](size_type n, nothrow t) noexcept {
  return record_new<nothrow>(array, new_array_nothrow, 0, n, t);
}
ASHLAR_EXPORT void* operator new(size_type n, align a) {
  return record_new(one, new_aligned, number(a), n, a);
}
ASHLAR_EXPORT void* operator new[](size_type n, align a) {
  return record_new(array, new_array_aligned, number(a), n, a);
}
ASHLAR_EXPORT void* operator new(size_type n, align a, nothrow t) noexcept {
  return record_new<align, nothrow>(one, new_aligned_nothrow, number(a), n, a, t);
}
ASHLAR_EXPORT void* operator new[](size_type n, align a, nothrow t) noexcept {
  return record_new<align, nothrow>(array, new_array_aligned_nothrow, number(a), n, a, t);
}

ASHLAR_EXPORT void operator delete(void* p) noexcept { record_delete(one_gone, delete_plain, p); }
ASHLAR_EXPORT void operator delete[](void* p) noexcept {
  record_delete(array_gone, delete_array, p);
}
ASHLAR_EXPORT void operator delete(void* p, size_type n) noexcept {
  record_delete(one_gone, delete_sized, p, n);
}
ASHLAR_EXPORT void operator delete[](void* p, size_type n) noexcept {
  record_delete(array_gone, delete_array_sized, p, n);
}
ASHLAR_EXPORT void operator delete(void* p, nothrow t) noexcept {
  record_delete<nothrow>(one_gone, delete_nothrow, p, t);
}
ASHLAR_EXPORT void operator delete[](void* p, nothrow t) noexcept {
  record_delete<nothrow>(array_gone, delete_array_nothrow, p, t);
}
ASHLAR_EXPORT void operator delete(void* p, align a) noexcept {
  record_delete(one_gone, delete_aligned, p, a);
}
ASHLAR_EXPORT void operator delete[](void* p, align a) noexcept {
  record_delete(array_gone, delete_array_aligned, p, a);
}
ASHLAR_EXPORT void operator delete(void* p, size_type n, align a) noexcept {
  record_delete(one_gone, delete_sized_aligned, p, n, a);
}
ASHLAR_EXPORT void operator delete[](void* p, size_type n, align a) noexcept {
  record_delete(array_gone, delete_array_sized_aligned, p, n, a);
}
ASHLAR_EXPORT void operator delete(void* p, align a, nothrow t) noexcept {
  record_delete<align, nothrow>(one_gone, delete_aligned_nothrow, p, a, t);
}
ASHLAR_EXPORT void operator delete[](void* p, align a, nothrow t) noexcept {
  record_delete<align, nothrow>(array_gone, delete_array_aligned_nothrow, p, a, t);
}
