// tools_absent/faces.cpp: the faces of every component that speaks to tools, as functions to be compared.

#include <ashlar/freestanding.hpp>
#include <ashlar/pool/packed_pool.hpp>

using namespace ashlar;

namespace {

/// A page source that is not seen through.
struct far_source {
  void* allocate(std::size_t size, std::size_t alignment) noexcept;
  void deallocate(void* p, std::size_t size, std::size_t alignment) noexcept;
};

}  // namespace

extern "C" void* far_allocate(std::size_t size, std::size_t alignment) noexcept;
extern "C" void far_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept;
inline void* far_source::allocate(std::size_t size, std::size_t alignment) noexcept {
  return far_allocate(size, alignment);
}
inline void far_source::deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
  far_deallocate(p, size, alignment);
}

/// A component's life. Instantiated below, so every function is there and none is inlined into another.
template <class Pool>
struct pool_faces {
  static void* take(Pool& pool) { return pool.allocate(); }
  static void give(Pool& pool, void* p) { pool.deallocate(p); }
  static bool audit(const Pool& pool) { return pool.audit(); }
  static std::size_t in_use(const Pool& pool) { return pool.stats().blocks_in_use; }
  static void end(Pool& pool) { pool.~Pool(); }
};
template <class Pool>
struct movable_faces {
  static void move(Pool& to, Pool& from) { to = std::move(from); }
  static void exchange(Pool& a, Pool& b) { swap(a, b); }
};
template <class Component>
struct sized_faces {
  static void* take(Component& c, std::size_t size) { return c.allocate(size, 8); }
  static void give(Component& c, void* p, std::size_t size) { c.deallocate(p, size, 8); }
  static void end(Component& c) { c.~Component(); }
};
template <class Arena>
struct arena_faces {
  static bool extend(Arena& arena, void* p) { return arena.try_extend(p, 10, 20); }
  static void rewind(Arena& arena, arena_marker to) { arena.rewind(to); }
  static void reset(Arena& arena) { arena.reset(); }
  static std::size_t trim(Arena& arena) { return arena.trim(); }
};

struct order {
  long a, b;
};

using plain = fixed_pool<>;
using guarded = fixed_pool<check::full<>>;
using unchecked = fixed_pool<check::none, counting::none>;
using shared = fixed_pool<lock_free<>>;
using growing = fixed_pool<far_source>;
using fixed = static_pool<order, 100>;
using set = static_pool_set<blocks<16, 10>, blocks<64, 10>>;
using lists = refill_lists<far_source>;
using runs = static_run_pool<order, 100>;
using bounded = arena<>;
using chunks = arena<far_source>;
using inside = static_arena<1000>;

template struct pool_faces<plain>;
template struct pool_faces<guarded>;
template struct pool_faces<unchecked>;
template struct pool_faces<shared>;
template struct pool_faces<growing>;
template struct pool_faces<fixed>;
template struct movable_faces<plain>;
template struct movable_faces<growing>;
template struct sized_faces<set>;
template struct sized_faces<lists>;
template struct sized_faces<bounded>;
template struct sized_faces<chunks>;
template struct sized_faces<inside>;
template struct arena_faces<bounded>;
template struct arena_faces<chunks>;
template struct arena_faces<inside>;

void* take_packed(packed_pool<>& pool) { return pool.allocate(); }
void give_packed(packed_pool<>& pool, void* p) { pool.deallocate(p); }
void end_packed(packed_pool<>& pool) { pool.~packed_pool(); }
void* take_run(runs& pool, std::size_t n) { return pool.allocate(n); }
void give_run(runs& pool, void* p) { pool.deallocate(p); }
std::size_t use_all(std::span<std::byte> bytes) {
  plain pool({40, 8}, bytes);
  packed_pool<> packed({40, 8}, bytes);
  bounded memory(bytes);
  growing slabs({40, 8}, heap_blocks{});
  return pool.capacity() + packed.capacity() + memory.capacity_bytes() + slabs.capacity();
}
void end_runs(runs& pool) { pool.~runs(); }
constinit fixed the_pool;
constinit set the_set;
constinit inside the_arena;
constinit runs the_runs;
constinit lists the_lists;
