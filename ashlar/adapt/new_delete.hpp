// adapt/new_delete.hpp: operator new and delete of a whole program, by the process heap.
// Layer: adapt.
//
// Including this in exactly one source file of a program that links libashlar replaces all of them:
// for one who cannot preload the drop-in library, as on Windows, or wants C's malloc as it is. A
// second inclusion ends in the linker's error of a name that is defined twice. All other rules are
// C++'s: the new-handler is called as long as there is one, then std::bad_alloc is thrown.
//
// Not together with libashlar-malloc.so or ashlar-malloc.o, which have these operators already.
// Thread-safety: as operator new.
#pragma once

#include <cstddef>
#include <new>

#include <ashlar/adapt/cxx_process_heap.hpp>

namespace ashlar::detail {

/// Returns: as operator new, but null where that throws.
[[nodiscard]] inline void* new_or_null(std::size_t size, std::size_t alignment) noexcept {
#if defined(__cpp_exceptions)
  try {
    return cxx_rules::allocate(size, alignment);
  } catch (...) {
    return nullptr;
  }
#else  // a handler that cannot help ends the program
  return runtime::allocate_aligned(size, alignment);
#endif
}

}  // namespace ashlar::detail

// Each form is here: where the C++ library is a shared one, its own forms know nothing of these.
// NOLINTBEGIN(misc-definitions-in-headers)
void* operator new(std::size_t n) { return ashlar::cxx_rules::allocate(n); }
void* operator new[](std::size_t n) { return ashlar::cxx_rules::allocate(n); }
void* operator new(std::size_t n, std::align_val_t a) {
  return ashlar::cxx_rules::allocate(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return ashlar::cxx_rules::allocate(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return ashlar::detail::new_or_null(n, 1);
}
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return ashlar::detail::new_or_null(n, 1);
}
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return ashlar::detail::new_or_null(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return ashlar::detail::new_or_null(n, static_cast<std::size_t>(a));
}

void operator delete(void* p) noexcept { ashlar::runtime::deallocate(p, "operator delete"); }
void operator delete[](void* p) noexcept { ashlar::runtime::deallocate(p, "operator delete[]"); }
void operator delete(void* p, std::size_t) noexcept {
  ashlar::runtime::deallocate(p, "operator delete");
}
void operator delete[](void* p, std::size_t) noexcept {
  ashlar::runtime::deallocate(p, "operator delete[]");
}
void operator delete(void* p, std::align_val_t) noexcept {
  ashlar::runtime::deallocate(p, "operator delete");
}
void operator delete[](void* p, std::align_val_t) noexcept {
  ashlar::runtime::deallocate(p, "operator delete[]");
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  ashlar::runtime::deallocate(p, "operator delete");
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  ashlar::runtime::deallocate(p, "operator delete[]");
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  ashlar::runtime::deallocate(p, "operator delete");
}
void operator delete[](void* p, const std::nothrow_t&) noexcept {
  ashlar::runtime::deallocate(p, "operator delete[]");
}
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  ashlar::runtime::deallocate(p, "operator delete");
}
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  ashlar::runtime::deallocate(p, "operator delete[]");
}
// NOLINTEND(misc-definitions-in-headers)
