// bench/in_process/peers.cpp: the pools that people have at hand. Those that are not installed are left out.
#include <cstddef>
#include <memory>
#include <memory_resource>

#if __has_include(<boost/pool/pool.hpp>)
#define WITH_BOOST 1
#include <boost/pool/object_pool.hpp>
#include <boost/pool/pool.hpp>
#endif
#if defined(WITH_FOONATHAN)
#include <foonathan/memory/memory_pool.hpp>
#endif

#include "patterns.hpp"
#include "rows.hpp"

namespace pools_bench {
namespace {

template <class Resource>
class pmr_pool {
 public:
  void* allocate() { return pool_.allocate(sizeof(object), alignof(object)); }
  void deallocate(void* p) { pool_.deallocate(p, sizeof(object), alignof(object)); }

 private:
  Resource pool_;
};
template <std::size_t>
using unsynchronized = pmr_pool<std::pmr::unsynchronized_pool_resource>;
template <std::size_t>
using synchronized = pmr_pool<std::pmr::synchronized_pool_resource>;

/// With a first buffer for all blocks, so that release() starts over in it.
template <std::size_t count>
class monotonic {
 public:
  void* allocate() { return bytes_.allocate(sizeof(object), alignof(object)); }
  void deallocate(void*) {}
  void reset() { bytes_.release(); }

 private:
  std::unique_ptr<object[]> buffer_ = std::make_unique_for_overwrite<object[]>(count);
  std::pmr::monotonic_buffer_resource bytes_{buffer_.get(), count * sizeof(object)};
};

#if defined(WITH_BOOST)
template <std::size_t count>
class boost_pool {
 public:
  void* allocate() { return pool_.malloc(); }
  void deallocate(void* p) { pool_.free(p); }

 private:
  boost::pool<> pool_{sizeof(object), count};
};

/// Its free keeps the list ordered by address, which is what its destructor needs.
template <std::size_t count>
class boost_object_pool {
 public:
  static constexpr bool ordered_free = true;
  void* allocate() { return pool_.malloc(); }
  void deallocate(void* p) { pool_.free(static_cast<object*>(p)); }

 private:
  boost::object_pool<object> pool_{count};
};
#endif

#if defined(WITH_FOONATHAN)
template <std::size_t count>
class foonathan_node_pool {
  using pool = foonathan::memory::memory_pool<foonathan::memory::node_pool>;

 public:
  void* allocate() { return pool_.allocate_node(); }
  void deallocate(void* p) { pool_.deallocate_node(p); }

 private:
  pool pool_{sizeof(object), pool::min_block_size(sizeof(object), count)};
};
#endif

}  // namespace

void add_peers() {
#if defined(WITH_BOOST)
  add_row<boost_pool>("boost::pool");
  add_row<boost_object_pool>("boost::object_pool");
#endif
#if defined(WITH_FOONATHAN)
  add_row<foonathan_node_pool>("foonathan node_pool");
#endif
  add_row<unsynchronized>("pmr unsynchronized");
  add_row<synchronized>("pmr synchronized");
  add_row<monotonic>("pmr monotonic (reset)");
}

}  // namespace pools_bench
