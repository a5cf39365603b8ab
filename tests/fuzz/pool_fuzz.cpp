// Pools of blocks of one size, under every policy, against the blocks that were given.
#include <array>
#include <new>
#include <span>
#include <tests/fuzz/input.hpp>
#include <tests/support/live_blocks.hpp>
#include <tests/support/require.hpp>
#include <vector>

#include <ashlar/arena/test_source.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/pool/fixed_pool.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

using namespace ashlar;
using ashlar_test::test_source;
using ashlar_test::test_source_ref;

/// Sizes and alignments that the input chooses; every alignment is a power of two, as is required.
block_layout layout(fuzz::input& in) {
  return {in.below(300), std::size_t{1} << in.below(8)};
}

template <class Pool>
class program {
 public:
  program(Pool& pool, fuzz::input& in) : pool_(&pool), in_(in) {}

  /// Effects: works until the input says that it is enough.
  void run() {
    while (!in_.empty() && !in_.chance(1)) step();
    check();
  }
  void give_all_back() {
    while (!shadow_.empty()) pool_->deallocate(shadow_.take_last().address);
    check();
  }
  /// Effects: the blocks are of `pool` from now on.
  void move_to(Pool& pool) { pool_ = &pool; }

 private:
  static constexpr bool counts = Pool::counting_type::counts;
  static constexpr bool borrows = Pool::exhaustion_type::borrows;

  void step() {
    const std::size_t what = in_.below(16);
    if (what < 8) {
      add(in_.chance(50) ? pool_->try_allocate() : allocate());
    } else if (what < 14) {
      if (!shadow_.empty()) pool_->deallocate(shadow_.take_any(in_).address);
    } else if (what == 14) {
      for (std::size_t n = in_.below(64); n != 0; --n) add(pool_->try_allocate());
    } else {
      check();
    }
  }

  void* allocate() {
    try {
      return pool_->allocate();
    } catch (const std::bad_alloc&) {
      REQUIRE(!Pool::nothrow_allocate);
      return nullptr;
    }
  }

  void add(void* p) {
    if (p == nullptr) return;
    REQUIRE(borrows || pool_->owns(p));
    shadow_.add(p, pool_->block_size(), pool_->block_size(), pool_->alignment());
  }

  void check() {
    REQUIRE(pool_->audit());
    const pool_stats s = pool_->stats();
    REQUIRE(borrows ? s.blocks_in_use <= shadow_.size() : s.blocks_in_use == shadow_.size());
    REQUIRE(s.blocks_in_use <= s.peak_in_use);
    REQUIRE(s.peak_in_use <= s.blocks_made);
    REQUIRE(s.blocks_made <= s.capacity);
    if (counts) REQUIRE(s.allocations - s.frees == s.blocks_in_use);
    shadow_.verify_all();
  }

  Pool* pool_;
  fuzz::input& in_;
  support::live_blocks<> shadow_;
};

/// Blocks in a caller's bytes, which begin and end anywhere.
template <class... Policies>
void on_storage(fuzz::input& in) {
  using pool_type = fixed_pool<Policies...>;
  const block_layout block = layout(in);
  std::vector<std::byte> storage(in.below(8192));
  const std::size_t skip = in.below(16);
  pool_type pool(block, std::span(storage).subspan(std::min(skip, storage.size())));
  REQUIRE(pool_type::storage_bytes(block, pool.capacity()) <=
          storage.size() + pool.alignment() + 64);
  program p(pool, in);
  p.run();
  if constexpr (pool_type::is_movable) {
    pool_type moved(std::move(pool));
    REQUIRE(pool.capacity() == 0);
    p.move_to(moved);
    p.run();
    return p.give_all_back();
  } else {
    p.give_all_back();
  }
}

template <class... Policies>
void on_source(fuzz::input& in) {
  test_source source;
  if (in.chance(50)) source.bytes_allowed = in.below(1 << 16);
  if (in.chance(30)) source.largest_allowed = in.below(1 << 12);
  {
    using pool_type = fixed_pool<test_source_ref, Policies...>;
    const block_layout block = layout(in);
    const auto run = [&in](pool_type& pool) {
      program p(pool, in);
      p.run();
      p.give_all_back();
    };
    if (pool_type::is_lock_free || in.chance(40)) {
      pool_type pool(block, heap_pool{in.below(200)}, test_source_ref{&source});
      run(pool);
    } else if constexpr (!pool_type::is_lock_free) {
      const heap_blocks mode{in.below(40), in.below(200), in.chance(50) ? in.below(500) : SIZE_MAX};
      pool_type pool(block, mode, test_source_ref{&source});
      run(pool);
    }
  }
  REQUIRE(source.pieces.empty());
  REQUIRE(source.wrong == 0);
}

/// Small blocks, then larger ones of a neighbour, then pieces of a source.
void borrowing(fuzz::input& in) {
  test_source source;
  {
    using last_type = fixed_pool<exhaustion::upstream<test_source>>;
    using first_type = fixed_pool<exhaustion::next_larger<last_type>>;
    std::array<std::byte, 1024> small{};
    std::array<std::byte, 2048> large{};
    last_type last({128, 64}, large, exhaustion::upstream(source));
    first_type first({48, 16}, small, exhaustion::next_larger(last));
    program p(first, in);
    p.run();
    p.give_all_back();
    program q(last, in);
    q.run();
    q.give_all_back();
  }
  REQUIRE(source.pieces.empty());
  REQUIRE(source.wrong == 0);
}

struct alignas(32) over_aligned {
  std::byte bytes[96];
};

template <class... Policies>
void inside(fuzz::input& in) {
  static_pool<over_aligned, 21, Policies...> pool;
  program p(pool, in);
  p.run();
  p.give_all_back();
}

constexpr void (*kinds[])(fuzz::input&) = {
    on_storage<>,
    on_storage<check::none>,
    on_storage<check::none, counting::none>,
    on_storage<counting::none>,
    on_storage<check::full<0>>,
    on_storage<check::full<5>, exhaustion::throw_bad_alloc>,
    on_storage<spin_lock>,
    on_storage<lock_free<>>,
    on_storage<lock_free<std::uint32_t>, check::none>,
    on_storage<exhaustion::handler_and_retry<exhaustion::throw_bad_alloc>>,
    on_source<>,
    on_source<check::none, counting::none>,
    on_source<check::full<3>>,
    on_source<lock_free<std::uint32_t>>,
    inside<>,
    inside<check::full<4>>,
    inside<lock_free<>, check::none, counting::none>,
    borrowing,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in({data, size});
  kinds[in.below(std::size(kinds))](in);
  return 0;
}
