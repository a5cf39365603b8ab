// misuse/corpus/process_heap.cpp: the process heap's faces that a program links: C, allocator<T>, containers, pmr.
#include <optional>

#include <tests/misuse/faults.h>
#include <xallocator.h>
#include <xvector.h>

#include <ashlar/ashlar.h>
#include <ashlar/ashlar.hpp>

namespace {

constexpr std::size_t size_of_block = 64;
struct object {
  unsigned char bytes[size_of_block];
};

bool trim() {
  ::ashlar_trim();
  return true;
}
void* of_a_heap_instance(std::size_t size) {
  static ashlar::heap<> other({.name = "other"});
  return other.try_allocate(size);
}

// ---- allocator<T>: objects; a larger size is an array of them

void* by_allocator(std::size_t size) {
  return ashlar::allocator<object>().allocate(size / sizeof(object));
}
void by_deallocate(void* p) { ashlar::allocator<object>().deallocate(static_cast<object*>(p), 1); }
void by_deallocate_sized(void* p, std::size_t size) {
  ashlar::allocator<object>().deallocate(static_cast<object*>(p), size / sizeof(object));
}

// ---- a container: its memory is known by what data() says. Destroying it twice is a double free.

using container = xvector<unsigned char>;
struct container_slot {
  alignas(container) std::byte bytes[sizeof(container)];
  void* data = nullptr;
};
std::array<container_slot, 256> containers;
std::size_t container_count = 0;

void* by_container(std::size_t size) {
  container_slot& slot = containers.at(container_count++);
  slot.data = (::new (slot.bytes) container(size))->data();
  return slot.data;
}
void destroy_container(void* data) {
  for (std::size_t i = container_count; i-- != 0;) {  // the newest that had this memory
    if (containers[i].data == data)
      return std::destroy_at(std::launder(reinterpret_cast<container*>(containers[i].bytes)));
  }
}

// ---- std::pmr

void* by_resource(std::size_t size) { return ashlar::pmr::process_resource()->allocate(size); }
void to_resource(void* p) { ashlar::pmr::process_resource()->deallocate(p, size_of_block); }
void to_resource_sized(void* p, std::size_t size) {
  ashlar::pmr::process_resource()->deallocate(p, size);
}

}  // namespace

const component components[] = {
    {.name = "xmalloc",
     .allocate = ::xmalloc,
     .release = ::xfree,
     .settle = trim,
     .reallocate = ::xrealloc,
     .take_from_another = of_a_heap_instance},
    {.name = "allocator",
     .allocate = by_allocator,
     .release = by_deallocate,
     .settle = trim,
     .release_sized = by_deallocate_sized,
     .take_from_another = of_a_heap_instance},
    {.name = "container",
     .allocate = by_container,
     .release = destroy_container,
     .settle = trim,
     .has_no_addresses = true},
    {.name = "pmr",
     .allocate = by_resource,
     .release = to_resource,
     .settle = trim,
     .release_sized = to_resource_sized,
     .take_from_another = of_a_heap_instance},
    {},
};
