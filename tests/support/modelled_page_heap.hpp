// tests/support/modelled_page_heap.hpp: random programs on a page heap, and a model that remembers what each page holds.
#pragma once

#include <tests/support/test_headers.hpp>
#include <tests/support/test_space.hpp>

#include <ashlar/heap/class_table.hpp>
#include <ashlar/pages/page_heap.hpp>

namespace ashlar::detail {

using test::space_call;
using test::test_space;
using pages = page_heap<test_space, std::mutex>;
using large = large_blocks<test_space, std::mutex>;

/// A page heap and what is live in it. Each page handed out is checked and then filled with a
/// pattern of its own; a run's pattern is checked when it is given back. What a refused renewal
/// takes out of use is remembered as lost: nobody may ever get it.
class modelled_page_heap {
 public:
  explicit modelled_page_heap(sealable<test_space>& space)
      : space_(space), heap_(std::make_unique<pages>(space)) {}

  [[nodiscard]] pages& heap() { return *heap_; }
  [[nodiscard]] std::size_t count() const { return live_.size(); }
  [[nodiscard]] std::size_t live_pages() const { return live_pages_; }
  [[nodiscard]] std::size_t lost() const { return space_.not_renewed().size(); }

  run* new_slab(class_index c, growth g = growth::allowed) {
    if (!heap_->start(standard_classes.bit_words_per_page)) return nullptr;
    run* r = heap_->new_slab(c, standard_classes.shapes[c], g);
    if (r == nullptr) return nullptr;
    const std::uint32_t own = standard_classes.shapes[c].pages;
    EXPECT_TRUE(r->pages == own || (closes_ && r->pages == own + 1));
    EXPECT_EQ(r->free_blocks, standard_classes.shapes[c].blocks);
    char* const base = heap_->address_of(*r);
    if (r->pages != own) {
      EXPECT_EQ(heap_->class_of(base + own * page_size), 0u) << "of a closed page";
    }
    for (std::uint32_t p = 0; p < own; ++p) {
      char* begin = nullptr;
      EXPECT_EQ(heap_->slab_of(base + p * page_size + 17, c, begin), r);
      EXPECT_EQ(begin, base);
      EXPECT_EQ(heap_->class_of(base + p * page_size), c);
      const class_index fast = heap_->class_in_first(base + p * page_size);
      EXPECT_TRUE(fast == c || fast == 0);
    }
    EXPECT_EQ(heap_->large().at(base), nullptr);
    admit(r, own, true);
    return r;
  }

  run* new_large(std::size_t count, std::size_t align_pages, growth g = growth::allowed) {
    if (!heap_->start(standard_classes.bit_words_per_page)) return nullptr;
    run* r = heap_->large().make(count, align_pages, g);
    if (r == nullptr) return nullptr;
    EXPECT_EQ(r->pages, count);
    char* const base = heap_->address_of(*r);
    EXPECT_TRUE(is_aligned(base, align_pages * page_size));
    EXPECT_EQ(heap_->large().at(base), r);
    EXPECT_EQ(heap_->large().at(base + 1), nullptr);
    if (count > 1) {
      EXPECT_EQ(heap_->large().at(base + page_size), nullptr);
    }
    EXPECT_EQ(heap_->class_of(base), 0u);
    EXPECT_EQ(heap_->class_in_first(base), 0u);
    admit(r, r->pages, false);
    return r;
  }

  /// Effects: a closed page lies behind each slab from now on, behind 20 at most.
  void close_behind_slabs() {
    closes_ = true;
    heap_->close_behind_slabs(20);
  }

  /// Effects: as of the page heap. Pages behind the first slabs may be closed.
  void close_freed(closing which) {
    closes_ = closes_ || which == closing::first;
    heap_->large().close_freed(which);
  }

  void drop(run* r, std::size_t (large::*free)(void*) = &large::remove) {
    const auto found = live_.find(start_of(r));
    ASSERT_NE(found, live_.end());
    check_pattern(found->first, found->second.bytes, found->second.tag);
    const block b = found->second;
    live_.erase(found);
    live_pages_ -= b.bytes / page_size;
    if (b.slab) {
      heap_->delete_slab(r, standard_classes.shapes[r->size_class]);
    } else {
      char* const base = heap_->address_of(*r);
      EXPECT_EQ((heap_->large().*free)(base), b.bytes);
      EXPECT_EQ(heap_->large().remove(base), 0u) << "deleted twice";
    }
  }
  void drop_all() {
    while (!live_.empty()) drop(live_.begin()->second.r);
  }

  void resize(run* r, std::size_t count) {
    block& b = live_.at(start_of(r));
    const std::size_t before = b.bytes / page_size;
    if (!heap_->large().resize(r, count)) {
      EXPECT_GT(count, before) << "shrinking cannot fail";
      EXPECT_EQ(r->pages, before);
      return;
    }
    // Without a record for the rest a run stays longer, which holds as many bytes.
    EXPECT_TRUE(r->pages == count || (count < before && r->pages == before));
    check_pattern(start_of(r), std::min(b.bytes, std::size_t{r->pages} << page_shift), b.tag);
    live_pages_ = live_pages_ - before + r->pages;
    b.bytes = std::size_t{r->pages} << page_shift;
    check_neighbours(start_of(r), b.bytes);
    fill(start_of(r), b.bytes, b.tag);
  }

  /// As a realloc that remaps: the contents appear elsewhere, and the block is gone where it was.
  /// Returns: where it is now.
  run* move(run* from, std::size_t count) {
    const block before = live_.at(start_of(from));
    const std::uintptr_t source = start_of(from);
    const std::uint64_t made = heap_->stats().large_made;
    count = std::max<std::size_t>(count, from->pages);
    run* const to = heap_->large().move(from, count);
    if (to == nullptr) {
      EXPECT_EQ(heap_->stats().large_made, made);
      check_pattern(source, before.bytes, before.tag);
      return from;
    }
    EXPECT_EQ(to->pages, count);
    EXPECT_EQ(heap_->large().at(reinterpret_cast<void*>(source)), nullptr);
    live_.erase(source);
    const std::uintptr_t target = start_of(to);
    EXPECT_TRUE(live_.emplace(target, block{to, count * page_size, before.tag, false}).second);
    live_pages_ += count - before.bytes / page_size;
    check_neighbours(target, count * page_size);
    check_pattern(target, before.bytes, before.tag);
    fill(target, count * page_size, before.tag);
    return to;
  }
  /// As a realloc that copies.
  run* copy(run* from, std::size_t count) {
    const block before = live_.at(start_of(from));
    count = std::max<std::size_t>(count, from->pages);
    run* const to = heap_->large().make_to_grow(count, growth::allowed);
    if (to == nullptr) return from;
    EXPECT_EQ(to->pages, count);
    admit(to, to->pages, false);
    check_pattern(start_of(from), before.bytes, before.tag);
    drop(from, &large::remove_outgrown);
    return to;
  }

  [[nodiscard]] run* any(std::mt19937_64& random, bool large_only) {
    if (live_.empty()) return nullptr;
    const auto it = std::next(live_.begin(), static_cast<long>(random() % live_.size()));
    return large_only && it->second.slab ? nullptr : it->second.r;
  }

  void audit() {
    heap_->audit();
    const page_heap_stats s = heap_->stats();
    std::size_t large_runs = 0, large_pages = 0;
    for (const auto& [start, b] : live_) {
      if (b.slab) continue;
      ++large_runs;
      large_pages += b.bytes / page_size;
    }
    EXPECT_EQ(s.large_runs, large_runs);
    EXPECT_EQ(s.large_pages, large_pages);
    EXPECT_EQ(s.large_made - s.large_freed, large_runs);
    EXPECT_GE(s.large_runs_peak, large_runs);
    EXPECT_GE(s.large_pages_peak, large_pages);
    EXPECT_GE(s.committed_bytes, live_pages_ << page_shift);
    EXPECT_GE(s.peak_committed_bytes, s.committed_bytes);
    EXPECT_EQ(s.reserved_bytes, space_.live_bytes()) << "a reservation has leaked";
  }

 private:
  struct block {
    run* r;
    std::size_t bytes;
    std::uint64_t tag;
    bool slab;
  };
  /// A word each so many bytes is written and checked. Twice in a page of 64 KiB, or the tests would take gigabytes.
  static constexpr std::size_t stride = page_size == 4096 ? 512 : page_size / 2;

  [[nodiscard]] std::uintptr_t start_of(const run* r) const {
    return reinterpret_cast<std::uintptr_t>(heap_->address_of(*r));
  }
  static std::uint64_t& word(std::uintptr_t a) { return *reinterpret_cast<std::uint64_t*>(a); }

  void check_neighbours(std::uintptr_t start, std::size_t bytes) {
    const auto own = live_.find(start);
    ASSERT_NE(own, live_.end());
    if (std::next(own) != live_.end()) {
      EXPECT_LE(start + bytes, std::next(own)->first) << "overlap";
    }
    if (own != live_.begin()) {
      EXPECT_LE(std::prev(own)->first + std::prev(own)->second.bytes, start) << "overlap";
    }
    for (const auto& [begin, end] : space_.not_renewed())
      EXPECT_TRUE(start + bytes <= begin || end <= start) << "nothing is mapped there";
  }
  void admit(run* r, std::size_t own_pages, bool slab) {
    const std::uintptr_t start = start_of(r);
    const std::size_t bytes = own_pages << page_shift;
    EXPECT_TRUE(live_.emplace(start, block{r, bytes, ++tags_ << 20, slab}).second);
    live_pages_ += own_pages;
    check_neighbours(start, bytes);
    if (r->zero) expect_zero(start, bytes);
    fill(start, bytes, tags_ << 20);
  }
  static void fill(std::uintptr_t start, std::size_t bytes, std::uint64_t tag) {
    for (std::size_t i = 0; i < bytes; i += stride) word(start + i) = tag + i / stride;
  }
  static void check_pattern(std::uintptr_t start, std::size_t bytes, std::uint64_t tag) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes; i += stride)
      wrong += word(start + i) != tag + i / stride ? 1u : 0u;
    EXPECT_EQ(wrong, 0u) << "somebody else wrote here";
  }
  static void expect_zero(std::uintptr_t start, std::size_t bytes) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes; i += stride) wrong += word(start + i) != 0 ? 1u : 0u;
    EXPECT_EQ(wrong, 0u) << "called zero, but is not";
  }

  sealable<test_space>& space_;
  std::unique_ptr<pages> heap_;
  std::map<std::uintptr_t, block> live_;
  std::size_t live_pages_ = 0;
  bool closes_ = false;
  std::uint64_t tags_ = 0;
};

inline class_index random_class(std::mt19937_64& random) {
  return static_cast<class_index>(1 + random() % (class_count - 1));
}

/// One random step; refusals are allowed.
inline void step(modelled_page_heap& m, sealable<test_space>& space, std::mt19937_64& random,
                 std::size_t live_pages_max) {
  const bool room = m.live_pages() < live_pages_max;
  switch (random() % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
      if (room) m.new_slab(random_class(random));
      break;
    case 4:
    case 5:
      if (room) m.new_large(1 + random() % 40, 1);
      break;
    case 6:
      if (room) m.new_large(1 + random() % 300, 1);
      break;
    case 7:
      if (room) m.new_large(1 + random() % 20, std::size_t{1} << (random() % 11));  // to 4 MiB
      break;
    case 8:
    case 9:
      if (run* r = m.any(random, true); r != nullptr) m.resize(r, 1 + random() % 150);
      break;
    case 10:
      if (run* r = m.any(random, true); r != nullptr && r->pages < 200)
        m.resize(r, r->pages + 1 + random() % 4);
      break;
    case 11:
      if (run* r = m.any(random, true); r != nullptr && room) {
        const std::size_t count = random() % 100;
        random() % 4 == 0 ? m.copy(r, count) : m.move(r, count);
      }
      break;
    case 12:
      space.set_clock(space.now_ms() + random() % 400);
      m.heap().supply().purge_aged();
      break;
    default:
      if (run* r = m.any(random, false); r != nullptr) m.drop(r);
  }
  if (random() % 500 == 0) m.heap().supply().purge_all();
}

/// What a test begins with, and is audited at its end.
class PageHeap : public testing::Test {
 protected:
  void TearDown() override { m_.audit(); }

  sealable<test_space> space_;
  modelled_page_heap m_{space_};
};

}  // namespace ashlar::detail
