// bench/in_process/ashlar_pools.cpp: ashlar's own faces, with the default checks and counters and without.
#include <cstddef>
#include <memory>
#include <span>

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/adapt/process_source.hpp>
#include <ashlar/arena/arena.hpp>
#include <ashlar/instance/heap.hpp>
#include <ashlar/pool/object_pool.hpp>
#include <ashlar/pool/packed_pool.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/static_pool.hpp>
#include <ashlar/runtime/process_heap.hpp>

#include "patterns.hpp"
#include "rows.hpp"

namespace pools_bench {
namespace {

constexpr ashlar::block_layout layout = ashlar::block_layout::of<object>();

/// A pool or an arena over bytes of its own.
template <std::size_t size>
class storage {
  std::unique_ptr<std::byte[]> bytes_ = std::make_unique_for_overwrite<std::byte[]>(size);

 protected:
  std::span<std::byte> bytes() { return {bytes_.get(), size}; }
};

template <std::size_t count, class... Policies>
class in_fixed_pool : storage<ashlar::fixed_pool<Policies...>::storage_bytes(layout, count)> {
 public:
  void* allocate() { return pool_.allocate(); }
  void deallocate(void* p) { pool_.deallocate(p); }

 private:
  ashlar::fixed_pool<Policies...> pool_{layout, this->bytes()};
};

/// Slabs of the process heap, as needed.
template <std::size_t, class... Policies>
class in_growing_pool {
 public:
  void* allocate() { return pool_.allocate(); }
  void deallocate(void* p) { pool_.deallocate(p); }

 private:
  ashlar::fixed_pool<ashlar::process_source, Policies...> pool_{layout, ashlar::heap_blocks{}};
};

template <std::size_t count, class... Policies>
class in_object_pool : storage<ashlar::object_pool<object, Policies...>::storage_bytes(count)> {
 public:
  void* allocate() { return pool_.allocate(); }
  void deallocate(void* p) { pool_.deallocate(p); }

 private:
  ashlar::object_pool<object, Policies...> pool_{this->bytes()};
};

template <std::size_t count>
class in_packed_pool : storage<(count + 1) * sizeof(object)> {
 public:
  void* allocate() { return pool_.allocate(); }
  void deallocate(void* p) { pool_.deallocate(p); }

 private:
  ashlar::packed_pool<> pool_{layout, this->bytes()};
};

/// A class of a pool set among others, by a size that the compiler knows.
template <std::size_t count, class... Policies>
class in_pool_set {
 public:
  void* allocate() { return set_.allocate(sizeof(object), alignof(object)); }
  void deallocate(void* p) { set_.deallocate(p, sizeof(object), alignof(object)); }

 private:
  ashlar::static_pool_set<ashlar::blocks<16, 10>, ashlar::blocks<32, 10>,
                          ashlar::blocks<sizeof(object), count>, ashlar::blocks<400, 10>,
                          Policies...>
      set_;
};

/// The same by a size known at run time, and an address.
template <std::size_t count, class... Policies>
class in_pool_set_at_run_time {
 public:
  void* allocate() { return set_.allocate(*opaque(&size_)); }
  void deallocate(void* p) { set_.deallocate(p); }

 private:
  std::size_t size_ = sizeof(object);
  ashlar::static_pool_set<ashlar::blocks<16, 10>, ashlar::blocks<32, 10>,
                          ashlar::blocks<sizeof(object), count>, ashlar::blocks<400, 10>,
                          Policies...>
      set_;
};

template <std::size_t count>
class in_arena : storage<(count + 1) * sizeof(object)> {
 public:
  void* allocate() { return arena_.allocate(sizeof(object), alignof(object)); }
  void deallocate(void*) {}
  void reset() { arena_.reset(); }

 private:
  ashlar::arena<> arena_{this->bytes()};
};

/// The process heap by a standard allocator: the size is a constant.
template <std::size_t>
class by_allocator {
 public:
  static constexpr bool owns_blocks = false;
  void* allocate() { return ashlar::allocator<object>().allocate(1); }
  void deallocate(void* p) { ashlar::allocator<object>().deallocate(static_cast<object*>(p), 1); }
};

/// The process heap as malloc and free reach it, but inlined.
template <std::size_t>
class by_process_heap {
 public:
  static constexpr bool owns_blocks = false;
  void* allocate() { return ashlar::runtime::allocate(*opaque(&size_)); }
  void deallocate(void* p) { ashlar::runtime::deallocate(p, "free"); }

 private:
  std::size_t size_ = sizeof(object);
};

template <std::size_t>
class in_heap {
 public:
  void* allocate() { return heap_.try_allocate(sizeof(object), alignof(object)); }
  void deallocate(void* p) { heap_.deallocate(p, sizeof(object), alignof(object)); }

 private:
  ashlar::heap<> heap_;
};

// The same without checks and counters, and as it comes.
using unchecked = ashlar::check::none;
using uncounted = ashlar::counting::none;
template <std::size_t count>
using bare_static_pool = ashlar::static_pool<object, count, unchecked, uncounted>;
template <std::size_t count>
using uncounted_static_pool = ashlar::static_pool<object, count, uncounted>;
template <std::size_t count>
using default_static_pool = ashlar::static_pool<object, count>;
template <std::size_t count>
using bare_fixed_pool = in_fixed_pool<count, unchecked, uncounted>;
template <std::size_t count>
using default_fixed_pool = in_fixed_pool<count>;
template <std::size_t count>
using bare_growing_pool = in_growing_pool<count, unchecked, uncounted>;
template <std::size_t count>
using default_growing_pool = in_growing_pool<count>;
template <std::size_t count>
using bare_object_pool = in_object_pool<count, unchecked, uncounted>;
template <std::size_t count>
using default_object_pool = in_object_pool<count>;
template <std::size_t count>
using bare_pool_set = in_pool_set<count, unchecked, uncounted>;
template <std::size_t count>
using default_pool_set = in_pool_set<count>;
template <std::size_t count>
using bare_pool_set_at_run_time = in_pool_set_at_run_time<count, unchecked, uncounted>;
template <std::size_t count>
using default_pool_set_at_run_time = in_pool_set_at_run_time<count>;

}  // namespace

void add_ashlar() {
  add_row<bare_static_pool>("ashlar static_pool, unchecked");
  add_row<uncounted_static_pool>("ashlar static_pool, uncounted");
  add_row<default_static_pool>("ashlar static_pool");
  add_row<bare_fixed_pool>("ashlar fixed_pool, unchecked");
  add_row<default_fixed_pool>("ashlar fixed_pool");
  add_row<bare_growing_pool>("ashlar fixed_pool of slabs, unchecked");
  add_row<default_growing_pool>("ashlar fixed_pool of slabs");
  add_row<bare_object_pool>("ashlar object_pool, unchecked");
  add_row<default_object_pool>("ashlar object_pool");
  add_row<in_packed_pool>("ashlar packed_pool");
  add_row<bare_pool_set>("ashlar pool_set, unchecked");
  add_row<default_pool_set>("ashlar pool_set");
  add_row<bare_pool_set_at_run_time>("ashlar pool_set, size at run time, unchecked");
  add_row<default_pool_set_at_run_time>("ashlar pool_set, size at run time");
  add_row<by_allocator>("ashlar allocator<T>");
  add_row<by_process_heap>("ashlar process heap, inlined");
  add_row<in_heap>("ashlar heap<>");
  add_row<in_arena>("ashlar arena (reset)");
}

}  // namespace pools_bench
