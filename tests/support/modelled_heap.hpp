// tests/support/modelled_heap.hpp: random programs on a heap, and a shadow that knows each block's place, size and bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <tests/support/heap_stats.hpp>
#include <tests/support/test_heap.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/basic_heap.hpp>

namespace ashlar::test {

/// A heap, some caches, and a shadow of each live block.
class modelled_heap {
  using cache = test_heap::cache;

 public:
  explicit modelled_heap(std::size_t caches)
      : heap_(std::make_unique<test_heap>()), owners_(caches) {}

  [[nodiscard]] test_heap& heap() { return *heap_; }
  [[nodiscard]] test_space& space() { return heap_->space(); }
  [[nodiscard]] std::size_t live_bytes() const { return live_bytes_; }

  void run(std::mt19937_64& random, int steps, std::size_t live_bytes_max) {
    for (int i = 0; i < steps; ++i) {
      step(random, live_bytes_max);
      if (testing::Test::HasFailure()) return;
    }
  }

  void drop_all() {
    cache* own = any_owner(0);
    while (!live_.empty()) drop(live_.begin(), own);
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
    std::map<class_index, std::size_t> in_use;
    for (const auto& [start, b] : live_) ++in_use[b.size_class];
    for (std::size_t c = 1; c < class_count; ++c)
      EXPECT_EQ(s.classes[c - 1].blocks_in_use, in_use[static_cast<class_index>(c)])
          << "blocks of " << detail::block_sizes[c];
    EXPECT_EQ(s.large.blocks_in_use, in_use[0]);
    EXPECT_EQ(s.total.bytes_in_use, live_bytes_);
    EXPECT_EQ(s.total.threads, 0u);
  }

 private:
  struct block {
    std::size_t size;    // asked for
    std::size_t usable;  // got
    std::uint64_t tag;
    class_index size_class;
  };
  using shadow = std::map<std::uintptr_t, block>;

  cache* any_owner(std::size_t i) {
    if (owners_[i] == nullptr) owners_[i] = heap_->attach();
    return owners_[i];
  }

  static unsigned char byte_at(std::uint64_t tag, std::size_t i) {
    return static_cast<unsigned char>(tag * 31 + i * 7 + 1);
  }
  // The ends of a block are where neighbours meet; between them a byte a page is enough.
  template <class Visitor>
  static void for_each_checked(std::size_t size, Visitor visit) {
    for (std::size_t i = 0; i < std::min<std::size_t>(size, 32); ++i) visit(i);
    for (std::size_t i = 32; i < size; i += 1000) visit(i);
    for (std::size_t i = size - std::min<std::size_t>(size, 16); i < size; ++i) visit(i);
  }
  static void fill(std::uintptr_t start, const block& b) {
    auto* bytes = reinterpret_cast<unsigned char*>(start);
    for_each_checked(b.usable, [&](std::size_t i) { bytes[i] = byte_at(b.tag, i); });
  }
  static void check(std::uintptr_t start, const block& b, std::size_t size) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(start);
    std::size_t wrong = 0;
    // Only what `fill` wrote and `size` bytes still hold.
    for_each_checked(b.usable, [&](std::size_t i) {
      if (i < size) wrong += bytes[i] != byte_at(b.tag, i) ? 1u : 0u;
    });
    EXPECT_EQ(wrong, 0u) << "somebody else wrote to this block";
  }

  void admit(void* p, std::size_t size, std::size_t alignment, bool zeroed) {
    if (p == nullptr) return;
    const auto start = reinterpret_cast<std::uintptr_t>(p);
    EXPECT_EQ(start % alignment, 0u);
    const std::size_t usable = heap_->usable_size(p, "test");
    EXPECT_GE(usable, size);
    const auto c =
        usable <= small_size_max ? detail::standard_classes.of_size(usable) : class_index{0};
    const auto [own, fresh] = live_.emplace(
        start,
        block{size, usable, ++tags_,
              c == 0 || detail::standard_classes.block_size(c) != usable ? class_index{0} : c});
    ASSERT_TRUE(fresh) << "one block for two owners";
    // A run of few pages has the size of a class, but is none: it is told by its address's slab.
    if (size > small_size_max || alignment > detail::page_size) own->second.size_class = 0;
    if (std::next(own) != live_.end()) {
      EXPECT_LE(start + usable, std::next(own)->first) << "overlap";
    }
    if (own != live_.begin()) {
      EXPECT_LE(std::prev(own)->first + std::prev(own)->second.usable, start) << "overlap";
    }
    if (zeroed) {
      std::size_t wrong = 0;
      for_each_checked(usable, [&](std::size_t i) {
        wrong += static_cast<const unsigned char*>(p)[i] != 0 ? 1u : 0u;
      });
      EXPECT_EQ(wrong, 0u) << "called zero, but is not";
    }
    live_bytes_ += usable;
    fill(start, own->second);
  }

  /// Effects: forgets the block. Returns: it.
  block forget(shadow::iterator it) {
    check(it->first, it->second, it->second.usable);
    const block b = it->second;
    live_bytes_ -= b.usable;
    live_.erase(it);
    return b;
  }

  void drop(shadow::iterator it, cache* own) {
    auto* p = reinterpret_cast<void*>(it->first);
    forget(it);
    if (own != nullptr)
      deallocate(*heap_, *own, p);
    else
      heap_->deallocate_uncached(p, "free");
  }

  void resize(shadow::iterator it, std::size_t size, cache* own) {
    auto* p = reinterpret_cast<void*>(it->first);
    if (const std::size_t usable = heap_->resize_in_place(p, size, "realloc"); usable != 0) {
      EXPECT_GE(usable, size);
      EXPECT_EQ(usable, heap_->usable_size(p, "test"));
      check(it->first, it->second, std::min(it->second.usable, usable));
      live_bytes_ = live_bytes_ - it->second.usable + usable;
      it->second.usable = usable;
      it->second.size = size;
      fill(it->first, it->second);
      return;
    }
    const block before = it->second;
    if (size > before.usable && before.usable > small_size_max) {
      if (void* moved = heap_->move_large(p, size); moved != nullptr) {
        check(reinterpret_cast<std::uintptr_t>(moved), before, before.usable);
        live_bytes_ -= before.usable;
        live_.erase(it);
        admit(moved, size, 4096, false);
        return;
      }
    }
    void* fresh = allocate(*heap_, *own, size);
    if (fresh == nullptr) return;
    drop(it, own);
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
    const bool room = live_bytes_ < live_bytes_max;
    const auto some = [&] {
      const std::uintptr_t first = live_.begin()->first;
      return live_.lower_bound(first + random() % (live_.rbegin()->first - first + 1));
    };
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
      if (!live_.empty()) resize(some(), 1 + random_size(random), own);
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
  shadow live_;
  std::size_t live_bytes_ = 0;
  std::uint64_t tags_ = 0;
};

}  // namespace ashlar::test
