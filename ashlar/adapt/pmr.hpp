// adapt/pmr.hpp: every component as a std::pmr::memory_resource, and the other way round.
// Layer: adapt.
//
//   pmr::process_resource()     the process heap; one object, from start to end of the program
//   pmr::resource<Component>    a pool, pool set, arena or heap instance (pmr_component.hpp)
//   pmr::source                 a memory_resource as page source of a pool, arena or heap
//
// So they stack in any order: a resource over a pool over a source over a resource ...
// Law: two resources are equal exactly when they are one object: no resource frees what another
// allocated, not even over the same component, since their upstreams may differ.
#pragma once

#include <cstddef>
#include <memory_resource>

#include <ashlar/adapt/cxx_process_heap.hpp>
#include <ashlar/adapt/pmr_component.hpp>
#include <ashlar/adapt/process_source.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/runtime/hit_path.hpp>

namespace ashlar::pmr {

namespace detail {

class process_heap_resource final : public memory_resource {
 public:
  constexpr process_heap_resource() noexcept = default;

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    return cxx_rules::allocate(size, alignment);
  }
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) override {
    process_source::deallocate_as(p, size, alignment, call);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
  static constexpr const char* call = "process_resource::deallocate";
};

/// Its destructor does nothing, so that the resource serves until the last static destructor.
union process_heap_resource_forever {
  constexpr process_heap_resource_forever() noexcept : resource() {}
  ~process_heap_resource_forever() {}
  process_heap_resource resource;
};
inline constinit process_heap_resource_forever the_process_heap_resource;

}  // namespace detail

/// Returns: the process heap; always the same object, usable at any time from any thread. Its
/// blocks are those of ashlar::allocator, xmalloc and xfree. allocate throws as operator new,
/// new-handler included; a deallocate that tells another size or alignment is a fault (wrong_size).
///   std::pmr::set_default_resource(ashlar::pmr::process_resource());
[[nodiscard]] inline memory_resource* process_resource() noexcept {
  return &detail::the_process_heap_resource.resource;
}

}  // namespace ashlar::pmr
