// model/pools.hpp: pools of blocks of one size: every check and lock policy, in a caller's bytes, inside, and on a source.
#pragma once

#include <tests/model/subject.hpp>
#include <tests/support/fixed_pools.hpp>

#include <ashlar/adapt/component_allocator.hpp>
#include <ashlar/pool/object_pool.hpp>
#include <ashlar/pool/packed_pool.hpp>
#include <ashlar/pool/static_pool.hpp>
#include <ashlar/pool/static_run_pool.hpp>

namespace model::pools {

using namespace ashlar;

/// What all faces of pools have in common. `Room` owns a pool, as `pool`, and what the pool needs. One that threads share
/// has no order, and no peak that the model knows.
template <class Room, bool Shared>
class pool_face {
 public:
  static constexpr std::size_t slots = Room::slots;
  static constexpr std::size_t most_bytes = std::size_t{8} << 20;
  static constexpr bool reallocates = false;
  static constexpr bool frees_all_at_end = false;

  explicit pool_face(draw d) : room_(d) {}

  static request choose(draw&, const style&) { return {0}; }

  block allocate(const request&, draw& d) {
    block b;
    b.address = room_.allocate(d);
    b.size = b.usable = room_.pool.block_size();
    b.alignment = room_.pool.alignment();
    if (!Shared && b.address != nullptr) {
      peak_ = std::max(peak_, ++in_use_);
      if (Room::lifo && !freed_.empty()) {
        require(b.address == freed_.back(), [&b] { return "not the last freed: " + describe(b); });
        freed_.pop_back();
      }
    }
    return b;
  }
  static block reallocate(const block& old, std::size_t) { return old; }
  void deallocate(const block& b, draw&) {
    room_.deallocate(b.address);
    if (Shared) return;
    --in_use_;
    if (Room::lifo) freed_.push_back(b.address);
  }
  void look(const block& b) const {
    require(room_.pool.owns(b.address), [&b] { return "not its own: " + describe(b); });
  }
  [[nodiscard]] bool refusal(const request&, const totals& now) const {
    return room_.source_refuses() || now.blocks == room_.pool.stats().capacity;
  }
  void rarely(draw) { room_.pool.deallocate(nullptr); }

  template <class Subject>
  void audit(const totals& all, const Subject&) const {
    if constexpr (requires { room_.pool.audit(); }) {
      require(room_.pool.audit(), [] { return "audit of a pool"; });
    }
    const pool_stats s = room_.pool.stats();
    const auto expect = [](const char* what, std::uint64_t is, std::uint64_t should) {
      require(is == should, [&] {
        return std::string(what) + ": the pool says " + std::to_string(is) + ", the model " +
               std::to_string(should);
      });
    };
    expect("blocks in use", s.blocks_in_use, all.blocks);
    if (Room::counts) {
      expect("allocations", s.allocations, all.allocations);
      expect("frees", s.frees, all.frees);
    }
    require(s.blocks_in_use <= s.peak_in_use && s.peak_in_use <= s.blocks_made &&
                s.blocks_made <= s.capacity,
            [] { return "in use <= peak <= made <= capacity"; });
    if (!Shared) {
      require(s.peak_in_use >= peak_, [] { return "a peak below what was in use"; });
      if (Room::counts) expect("peak", s.peak_in_use, peak_);
    }
    room_.check();
  }

 private:
  Room room_;
  std::uint64_t in_use_ = 0, peak_ = 0;
  std::vector<void*> freed_;  // the youngest last
};

/// How a room hands out blocks unless it says otherwise.
template <class Room>
struct plain_room {
  static constexpr bool lifo = false;  ///< reuse is last in, first out
  void* allocate(draw& d) {
    auto& pool = static_cast<Room*>(this)->pool;
    try {
      return d.one_in(2) ? pool.try_allocate() : pool.allocate();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  void deallocate(void* p) { static_cast<Room*>(this)->pool.deallocate(p); }
  [[nodiscard]] static bool source_refuses() { return false; }
  static void check() {}
};

inline block_layout layout(draw& d) { return {1 + d.below(300), std::size_t{1} << d.below(7)}; }

template <class... Policies>
struct in_storage : plain_room<in_storage<Policies...>> {
  using pool_type = fixed_pool<Policies...>;
  static constexpr bool lifo = !pool_type::check_type::guards_bytes;
  static constexpr std::size_t slots = 700;
  static constexpr bool counts = pool_type::counting_type::counts;
  explicit in_storage(draw d) : storage(d.below(1 << 17)), pool(layout(d), std::span(storage)) {}
  std::vector<std::byte> storage;
  pool_type pool;
};

/// On pieces of a source, which has an end at times.
template <class... Policies>
struct growing : plain_room<growing<Policies...>> {
  using pool_type = fixed_pool<ashlar_test::test_source_ref, Policies...>;
  static constexpr std::size_t slots = 1000;
  // The slab in use comes first, where each has a list.
  static constexpr bool lifo = std::is_same_v<typename pool_type::check_type, check::none>;
  static constexpr bool counts = pool_type::counting_type::counts;
  explicit growing(draw d)
      : source(bytes_allowed(d)),
        pool(layout(d),
             heap_blocks{d.below(64), d.below(400), d.one_in(2) ? d.below(800) : SIZE_MAX},
             ashlar_test::test_source_ref{&source}) {}
  [[nodiscard]] bool source_refuses() const { return source.bytes_allowed != SIZE_MAX; }
  void check() const { REQUIRE(source.wrong == 0); }

  ashlar_test::checked_source source;
  pool_type pool;
};

/// The same by one piece, which lock-free pools need.
template <class... Policies>
struct one_piece : plain_room<one_piece<Policies...>> {
  using pool_type = fixed_pool<ashlar_test::test_source_ref, Policies...>;
  static constexpr std::size_t slots = 400;
  static constexpr bool lifo = !pool_type::check_type::guards_bytes;
  static constexpr bool counts = pool_type::counting_type::counts;
  explicit one_piece(draw d)
      : pool(layout(d), heap_pool{d.below(1000)}, ashlar_test::test_source_ref{&source}) {}
  ashlar_test::test_source source;
  pool_type pool;
};

struct alignas(32) over_aligned {
  std::byte bytes[96];
};

template <class... Policies>
struct inside : plain_room<inside<Policies...>> {
  static constexpr std::size_t slots = 600;
  using pool_type = static_pool<over_aligned, 500, Policies...>;
  static constexpr bool counts = pool_type::counting_type::counts;
  explicit inside(draw) {}
  pool_type pool;
};

template <class... Policies>
struct objects {
  static constexpr bool lifo = false;
  static constexpr std::size_t slots = 800;
  using pool_type = object_pool<over_aligned, ashlar_test::test_source_ref, Policies...>;
  static constexpr bool counts = pool_type::counting_type::counts;
  explicit objects(draw d)
      : pool(heap_blocks{1 + d.below(50)}, ashlar_test::test_source_ref{&source}) {}
  void* allocate(draw& d) { return d.one_in(2) ? pool.try_create() : pool.create(); }
  void deallocate(void* p) { pool.destroy(static_cast<over_aligned*>(p)); }
  [[nodiscard]] static bool source_refuses() { return false; }
  void check() const {
    if constexpr (pool_type::tracks_state) {
      std::size_t walked = 0;
      for ([[maybe_unused]] const over_aligned& o : pool.objects()) ++walked;
      require(walked == pool.stats().blocks_in_use, [] { return "a walk missed objects"; });
    }
  }
  ashlar_test::test_source source;
  pool_type pool;
};

struct packed : plain_room<packed> {
  static constexpr bool lifo = true;
  static constexpr std::size_t slots = 700;
  static constexpr bool counts = true;
  explicit packed(draw d)
      : storage(d.below(1 << 16)),
        pool({1 + d.below(100), std::size_t{1} << d.below(5)}, std::span(storage)) {}
  std::vector<std::byte> storage;
  packed_pool<> pool;
};

/// The same as a standard container sees it: null is bad_alloc.
struct by_allocator {
  static constexpr bool lifo = false;
  static constexpr std::size_t slots = 600;
  static constexpr bool counts = true;
  explicit by_allocator(draw) {}
  void* allocate(draw&) {
    try {
      return allocator().allocate(1);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  void deallocate(void* p) { allocator().deallocate(static_cast<over_aligned*>(p), 1); }
  [[nodiscard]] static bool source_refuses() { return false; }
  static void check() {}
  pool_allocator<over_aligned, static_pool<over_aligned, 500>> allocator() { return pool; }
  static_pool<over_aligned, 500> pool;
};

/// Arrays: as many neighbouring slots as are asked for.
class run_face {
 public:
  static constexpr std::size_t slots = 300;
  static constexpr std::size_t most_bytes = SIZE_MAX;
  static constexpr bool reallocates = false;
  static constexpr bool frees_all_at_end = false;

  explicit run_face(draw) {}
  static request choose(draw& d, const style& s) {
    return {s.one_size != 0 ? 1 + s.one_size % 16 : d.below(24)};
  }
  block allocate(const request& r, draw& d) {
    block b;
    b.address = d.one_in(2) ? pool_.try_allocate(r.size) : pool_.allocate(r.size);
    b.size = b.usable = std::max<std::size_t>(r.size, 1) * sizeof(over_aligned);
    b.alignment = alignof(over_aligned);
    return b;
  }
  static block reallocate(const block& old, std::size_t) { return old; }
  void deallocate(const block& b, draw&) { pool_.deallocate(b.address); }
  void look(const block& b) const {
    require(pool_.owns(b.address), [&b] { return "not its own: " + describe(b); });
  }
  /// One object fits as long as any slot is free; more need neighbours.
  static bool refusal(const request& r, const totals& now) {
    return r.size > 1 || now.bytes == capacity * sizeof(over_aligned);
  }
  void rarely(draw) { pool_.deallocate(nullptr); }
  template <class Subject>
  void audit(const totals& all, const Subject&) const {
    require(pool_.in_use() * sizeof(over_aligned) == all.bytes,
            [] { return "slots in use are not the model's"; });
  }

 private:
  static constexpr std::size_t capacity = 2000;
  static_run_pool<over_aligned, capacity> pool_;
};

template <class Room, bool Shared = false>
kind pool_kind(const char* name, unsigned weight) {
  return kind_of<pool_face<Room, Shared>>(name, weight, Shared, !Shared);
}

inline std::vector<kind> all() {
  return {
      pool_kind<in_storage<>>("pool", 10),
      pool_kind<in_storage<check::none, counting::none>>("pool_unchecked", 10),
      pool_kind<in_storage<check::full<8>>>("pool_full_check", 4),
      pool_kind<in_storage<check::full<0>, counting::none>>("pool_full_check_at_once", 1),
      pool_kind<in_storage<interrupt_mask<support::test_port>>>("pool_interrupts", 1),
      pool_kind<in_storage<lock_free<std::uint32_t>>>("pool_lock_free_alone", 1),
      pool_kind<in_storage<lock_free<>, check::none, counting::none>>("pool_lock_free_unchecked",
                                                                      1),
      pool_kind<one_piece<check::none>>("pool_one_piece", 1),
      pool_kind<one_piece<lock_free<>>>("pool_one_piece_lock_free", 1),
      pool_kind<growing<std::mutex, counting::none>>("pool_growing_mutex", 1),
      pool_kind<in_storage<exhaustion::throw_bad_alloc, counting::none>>("pool_throwing", 1),
      pool_kind<growing<>>("pool_growing", 6),
      pool_kind<growing<check::none>>("pool_growing_unchecked", 6),
      pool_kind<growing<check::full<3>, spin_lock>>("pool_growing_full_check", 3),
      pool_kind<inside<>>("static_pool", 8),
      pool_kind<inside<check::none, spin_lock>>("static_pool_spin", 4),
      pool_kind<inside<check::full<4>>>("static_pool_full_check", 3),
      pool_kind<objects<>>("object_pool", 5),
      pool_kind<objects<check::full<2>, std::mutex>>("object_pool_full_check", 3),
      pool_kind<packed>("packed_pool", 5),
      pool_kind<by_allocator>("pool_allocator", 5),
      kind_of<run_face>("static_run_pool", 1),
      pool_kind<one_piece<std::mutex>, true>("pool_mutex", 4),
      pool_kind<one_piece<spin_lock, check::full<8>>, true>("pool_spin_full_check", 3),
      pool_kind<one_piece<lock_free<>>, true>("pool_lock_free", 6),
      pool_kind<inside<lock_free<std::uint32_t>, check::none>, true>("static_pool_lock_free", 6),
  };
}

}  // namespace model::pools
