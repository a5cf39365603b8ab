// adapt/pmr_component.hpp: a component as a std::pmr::memory_resource, and a memory_resource as a
// page source.
// Layer: adapt. What has a process heap includes pmr.hpp, which has that too.
//
//   pmr::resource<Component>    a pool, pool set, arena or heap instance; an upstream for what its
//                               blocks cannot hold
//   pmr::source                 a memory_resource as the page source of a pool, arena or heap
#pragma once

#include <cstddef>
#include <memory_resource>

#include <ashlar/adapt/component.hpp>
#include <ashlar/adapt/cxx_rules.hpp>
#include <ashlar/core/config.hpp>

namespace ashlar::pmr {

using std::pmr::memory_resource;

/// A memory_resource as a page source: where it throws, this is null, since what then happens is
/// its user's policy. Requires: the resource outlives its users.
class source {
 public:
  source(memory_resource* from) noexcept : from_(from) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment) const noexcept {
    ASHLAR_TRY { return from_->allocate(size, alignment); }
    ASHLAR_CATCH_ALL { return nullptr; }
  }
  void deallocate(void* p, std::size_t size, std::size_t alignment) const noexcept {
    from_->deallocate(p, size, alignment);
  }
  friend bool operator==(const source& a, const source& b) noexcept { return *a.from_ == *b.from_; }

 private:
  memory_resource* from_;
};

/// A component's face. Thread-safety: the component's and the upstream's. Neither copied nor moved,
/// since containers keep its address.
template <component Component>
class resource final : public memory_resource {
 public:
  /// What the component's blocks cannot hold is std::bad_alloc. Requires: `from` outlives all that
  /// is allocated here.
  explicit resource(Component& from) noexcept : component_(&from) {}
  /// What they cannot hold goes to `upstream`. Where a component takes every size itself (an arena,
  /// a heap) this does not compile: its upstream is its page source or its exhaustion policy.
  resource(Component& from, memory_resource* upstream) noexcept
    requires ashlar::detail::takes_upstream<Component>
      : component_(&from), upstream_(upstream) {}
  resource(const resource&) = delete;
  resource& operator=(const resource&) = delete;

  [[nodiscard]] Component& component() const noexcept { return *component_; }
  /// Returns: where the rest goes; std::pmr::null_memory_resource() without one.
  [[nodiscard]] memory_resource* upstream_resource() const noexcept { return upstream_; }

 private:
  /// Throws: what the component's exhaustion policy or the upstream throws; std::bad_alloc for a
  /// null from the former.
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    if (!ashlar::detail::serves(*component_, size, alignment))
      return upstream_->allocate(size, alignment);
    void* const block = ashlar::detail::take_from(*component_, size, alignment);
    if (block == nullptr) [[unlikely]]
      cxx_rules::throw_bad_alloc("pmr::resource::allocate", size);
    return block;
  }
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) override {
    if (!ashlar::detail::serves(*component_, size, alignment))
      return upstream_->deallocate(p, size, alignment);
    ashlar::detail::give_to(*component_, p, size, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  Component* component_;
  memory_resource* upstream_ = std::pmr::null_memory_resource();
};

}  // namespace ashlar::pmr
