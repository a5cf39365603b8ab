// adapt/malloc_operators.cpp: every replaceable operator new and delete, for the drop-in library.
// Layer: adapt.
//
// The sized and aligned deletes ignore what they are told: an address tells its class by itself.
#include <cstddef>
#include <new>

#include <ashlar/adapt/c_rules.hpp>

using namespace ashlar;

#define ASHLAR_EXPORT [[gnu::visibility("default")]]

namespace {

/// The new_handler protocol: call the handler as long as there is one and the memory is not there.
/// No lock is held while it runs, so it may free, allocate or install another handler. Without a
/// handler `allocate_or_throw` throws and `allocate_or_null` gives null.
template <class Attempt>
ASHLAR_COLD void* retry_or_throw(Attempt attempt) {
  for (;;) {
    std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
    if (void* block = attempt(); block != nullptr) return block;
  }
}

template <class Attempt>
ASHLAR_COLD void* retry_or_null(Attempt attempt) noexcept {
  try {
    return retry_or_throw(attempt);
  } catch (const std::bad_alloc&) {
    // The standard's rule for the nothrow forms: the handler may end the retries by throwing.
    return nullptr;
  }
}

void* allocate_or_throw(std::size_t size) {
  void* const block = runtime::allocate(size);
  if (block != nullptr) [[likely]]
    return block;
  return retry_or_throw([=] { return runtime::allocate(size); });
}
void* allocate_or_throw(std::size_t size, std::align_val_t alignment) {
  const auto attempt = [=] {
    return runtime::allocate_aligned(size, static_cast<std::size_t>(alignment));
  };
  void* const block = attempt();
  return block != nullptr ? block : retry_or_throw(attempt);
}
void* allocate_or_null(std::size_t size) noexcept {
  void* const block = runtime::allocate(size);
  if (block != nullptr) [[likely]]
    return block;
  return retry_or_null([=] { return runtime::allocate(size); });
}
void* allocate_or_null(std::size_t size, std::align_val_t alignment) noexcept {
  const auto attempt = [=] {
    return runtime::allocate_aligned(size, static_cast<std::size_t>(alignment));
  };
  void* const block = attempt();
  return block != nullptr ? block : retry_or_null(attempt);
}

ASHLAR_HOT void give_back(void* block) noexcept {
  runtime::deallocate(block, "operator delete");
}
ASHLAR_HOT void give_back_array(void* block) noexcept {
  runtime::deallocate(block, "operator delete[]");
}

}  // namespace

using size_type = std::size_t;
using align = std::align_val_t;
using nothrow = std::nothrow_t;

ASHLAR_EXPORT void* operator new(size_type n) {
  return allocate_or_throw(n);
}
ASHLAR_EXPORT void* operator new[](size_type n) {
  return allocate_or_throw(n);
}
ASHLAR_EXPORT void* operator new(size_type n, const nothrow&) noexcept {
  return allocate_or_null(n);
}
ASHLAR_EXPORT void* operator new[](size_type n, const nothrow&) noexcept {
  return allocate_or_null(n);
}
ASHLAR_EXPORT void* operator new(size_type n, align a) {
  return allocate_or_throw(n, a);
}
ASHLAR_EXPORT void* operator new[](size_type n, align a) {
  return allocate_or_throw(n, a);
}
ASHLAR_EXPORT void* operator new(size_type n, align a, const nothrow&) noexcept {
  return allocate_or_null(n, a);
}
ASHLAR_EXPORT void* operator new[](size_type n, align a, const nothrow&) noexcept {
  return allocate_or_null(n, a);
}

ASHLAR_EXPORT void operator delete(void* p) noexcept {
  give_back(p);
}
ASHLAR_EXPORT void operator delete(void* p, size_type) noexcept {
  give_back(p);
}
ASHLAR_EXPORT void operator delete(void* p, align) noexcept {
  give_back(p);
}
ASHLAR_EXPORT void operator delete(void* p, size_type, align) noexcept {
  give_back(p);
}
ASHLAR_EXPORT void operator delete(void* p, const nothrow&) noexcept {
  give_back(p);
}
ASHLAR_EXPORT void operator delete(void* p, align, const nothrow&) noexcept {
  give_back(p);
}
ASHLAR_EXPORT void operator delete[](void* p) noexcept {
  give_back_array(p);
}
ASHLAR_EXPORT void operator delete[](void* p, size_type) noexcept {
  give_back_array(p);
}
ASHLAR_EXPORT void operator delete[](void* p, align) noexcept {
  give_back_array(p);
}
ASHLAR_EXPORT void operator delete[](void* p, size_type, align) noexcept {
  give_back_array(p);
}
ASHLAR_EXPORT void operator delete[](void* p, const nothrow&) noexcept {
  give_back_array(p);
}
ASHLAR_EXPORT void operator delete[](void* p, align, const nothrow&) noexcept {
  give_back_array(p);
}
