// Random programs on a whole heap against a shadow of each block, also while system calls fail.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <tests/support/expects.hpp>
#include <tests/support/extent.hpp>
#include <tests/support/heap_stats.hpp>
#include <tests/support/live_blocks.hpp>
#include <tests/support/test_heap.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/basic_heap.hpp>

// Random programs on a heap, and a shadow that knows each block's place, size and bytes.
namespace ashlar::test {

/// A heap, some caches, and its live blocks. A block's origin is its class; 0: a run of its own.
class modelled_heap {
  using cache = test_heap::cache;
  using block = support::live_block;
  using blocks = support::live_blocks<support::expects, 128>;

 public:
  explicit modelled_heap(std::size_t caches)
      : heap_(std::make_unique<test_heap>()), owners_(caches) {}

  [[nodiscard]] test_heap& heap() { return *heap_; }
  [[nodiscard]] test_space& space() { return heap_->space(); }
  [[nodiscard]] std::size_t live_bytes() const { return live_.bytes(); }

  void run(std::mt19937_64& random, int steps, std::size_t live_bytes_max) {
    for (int i = 0; i < steps; ++i) {
      step(random, live_bytes_max);
      if (testing::Test::HasFailure()) return;
    }
  }

  void drop_all() {
    cache* own = any_owner(0);
    while (!live_.empty()) drop(live_.take_last(), own);
  }
  void detach_all() {
    for (cache*& own : owners_) {
      if (own != nullptr) heap_->detach(own);
      own = nullptr;
    }
  }

  /// Requires: every cache is detached.
  void check_accounts() {
    heap_->audit();
    const ashlar_stats s = stats_of(*heap_);
    check_equations(s);
    std::array<std::size_t, class_count> in_use{};
    for (const block& b : live_.blocks()) ++in_use[b.origin];
    for (std::size_t c = 1; c < class_count; ++c)
      EXPECT_EQ(s.classes[c - 1].blocks_in_use, in_use[c])
          << "blocks of " << detail::block_sizes[c];
    EXPECT_EQ(s.large.blocks_in_use, in_use[0]);
    EXPECT_EQ(s.total.bytes_in_use, live_.bytes());
    EXPECT_EQ(s.total.threads, 0u);
  }

 private:
  cache* any_owner(std::size_t i) {
    if (owners_[i] == nullptr) owners_[i] = heap_->attach();
    return owners_[i];
  }

  void admit(void* p, std::size_t size, std::size_t alignment, bool zeroed) {
    if (p == nullptr) return;
    const std::size_t usable = heap_->usable_size(p, "test");
    if (zeroed) {
      EXPECT_EQ(support::find_nonzero(p, usable), usable) << "called zero, but is not";
    }
    const class_index c =
        usable <= small_size_max ? detail::standard_classes.of_size(usable) : class_index{0};
    // A run of few pages has the size of a class, but is none: it is told by its address's slab.
    const bool has_class = c != 0 && detail::standard_classes.block_size(c) == usable &&
                           size <= small_size_max && alignment <= detail::page_size;
    live_.add(p, size, usable, alignment, has_class ? c : class_index{0});
  }

  void drop(const block& b, cache* own) {
    if (own != nullptr)
      deallocate(*heap_, *own, b.address);
    else
      heap_->deallocate_uncached(b.address, "free");
  }

  void resize(const block& b, std::size_t size, cache* own) {
    if (const std::size_t usable = heap_->resize_in_place(b.address, size, "realloc");
        usable != 0) {
      EXPECT_EQ(usable, heap_->usable_size(b.address, "test"));
      blocks::verify(b, b.address, usable);
      return live_.add(b.address, size, usable, b.alignment, b.origin);
    }
    if (size > b.usable && b.usable > small_size_max) {
      if (void* const moved = heap_->move_large(b.address, size); moved != nullptr) {
        blocks::verify(b, moved, b.usable);
        return admit(moved, size, 4096, false);
      }
    }
    blocks::verify(b);  // a move that was refused has not changed it
    void* const fresh = allocate(*heap_, *own, size);
    if (fresh == nullptr) return live_.insert(b);
    drop(b, own);
    admit(fresh, size, 16, false);
  }

  static std::size_t random_size(std::mt19937_64& random) {
    switch (random() % 16) {
      case 0:
        return random() % (small_size_max + 1);
      case 1:
        return small_size_max + 1 + random() % 200'000;
      case 2:
        return random() % 256 == 0 ? random() % (4 << 20) : random() % 4096;
      default:
        return random() % 600;
    }
  }

  void step(std::mt19937_64& random, std::size_t live_bytes_max) {
    cache* own = any_owner(random() % owners_.size());
    const bool room = live_.bytes() < live_bytes_max;
    const auto some = [&] { return live_.take(random() % live_.size()); };
    if (own == nullptr) {  // memory for a cache was refused
      if (room) {
        const auto c = static_cast<class_index>(1 + random() % (class_count - 1));
        admit(heap_->allocate_uncached(c), detail::standard_classes.block_size(c), 16, false);
      }
      return;
    }
    const std::uint64_t dice = random() % 64;
    if (dice < 28) {
      const std::size_t size = random_size(random);
      if (room) admit(allocate(*heap_, *own, size), size, 16, false);
    } else if (dice < 30) {
      const std::size_t size = random() % (2 * small_size_max);
      const std::size_t alignment = std::size_t{16} << (random() % 13);  // to 64 KiB
      if (!room) return;
      bool zeroed = false;
      const class_index c = test_heap::classes::class_for(size, alignment);
      admit(
          c != 0 ? heap_->allocate_class(*own, c) : heap_->allocate_large(size, alignment, zeroed),
          c != 0 ? size : std::max(size, std::size_t{1}), std::max<std::size_t>(alignment, 16),
          zeroed);
    } else if (dice < 31) {
      const auto c = static_cast<class_index>(1 + random() % (class_count - 1));
      if (room)
        admit(heap_->allocate_uncached(c), detail::standard_classes.block_size(c), 16, false);
    } else if (dice < 38) {
      if (live_.empty()) return;
      const block b = some();
      resize(b, 1 + random_size(random), own);
    } else if (dice < 39) {
      if (!live_.empty()) drop(some(), nullptr);
    } else if (dice < 62) {
      if (!live_.empty()) drop(some(), own);
    } else if (dice == 62) {
      space().set_clock(space().now_ms() + random() % 300);
    } else if (const std::uint64_t rare = random() % 32; rare == 0) {
      heap_->trim();
    } else if (rare == 1) {
      heap_->flush(*own);
    } else if (rare < 4) {
      const std::size_t i = random() % owners_.size();
      if (owners_[i] != nullptr) heap_->detach(owners_[i]);
      owners_[i] = nullptr;
    }
  }

  std::unique_ptr<test_heap> heap_;
  std::vector<cache*> owners_;
  blocks live_;
};

}  // namespace ashlar::test

namespace {

using namespace ashlar;
using test::stats_of;
using modelled = test::modelled_heap;

TEST(Heap, RandomProgramsAgreeWithTheShadow) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    modelled m(3);
    // Seed 4: a first range of 1 MiB, so that most blocks are found by the slow way.
    if (seed == 4) m.space().set_limit(4 << 20);
    m.heap().set_purge_policy({.delay_ms = seed == 2 ? 0 : 500, .keep_bytes = 0});
    for (int phase = 0; phase < 6; ++phase) {
      m.run(random, 4000, phase % 2 == 0 ? 24 << 20 : 1 << 20);
      m.detach_all();
      m.check_accounts();
      if (HasFailure()) return;
    }
    m.drop_all();
    m.detach_all();
    m.check_accounts();
    m.heap().trim();
    m.check_accounts();
    EXPECT_EQ(stats_of(m.heap()).total.committed_bytes, 0u) << "all is free and was given back";
  }
}

TEST(HeapRefusals, EverySystemCallMayFail) {
  for (const bool all_after : {false, true}) {
    for (std::uint64_t n = 1;; n += support::step(7u)) {
      SCOPED_TRACE(testing::Message() << "call " << n << (all_after ? " and later" : ""));
      modelled m(2);
      m.space().set_limit(4 << 20);  // the first range: 1 MiB, so that more are added
      m.heap().set_purge_policy({.delay_ms = 100, .keep_bytes = 0});
      std::mt19937_64 random(9);
      all_after ? m.space().fail_from(n) : m.space().fail_nth(n);
      m.run(random, 400, 6 << 20);
      const bool ran_out = m.space().calls() < n;
      m.detach_all();
      m.check_accounts();
      m.space().fail_nth(0);
      m.run(random, 300, 8 << 20);
      EXPECT_GT(m.live_bytes(), 0u) << "nothing works any more";
      m.drop_all();
      m.detach_all();
      m.check_accounts();
      if (HasFailure()) return;
      if (ran_out) break;
    }
  }
}

}  // namespace
