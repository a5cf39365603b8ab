// arena/test_model.hpp: programs over every kind of arena, against a model that is a list of
// blocks.
// Layer: arena (tests only; not installed). Who makes the choices, chance or a fuzzer, is a
// parameter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/arena/arena.hpp>
#include <ashlar/arena/static_arena.hpp>
#include <ashlar/arena/test_source.hpp>

namespace ashlar_test {

using namespace ashlar;

using order = std::vector<int>;

inline int next_id = 0;
inline order* grave = nullptr;

template <std::size_t Alignment>
struct alignas(Alignment) mortal {
  mortal() : id(next_id++) { std::memset(bytes, 0x5a, sizeof(bytes)); }
  ~mortal() { grave->push_back(id); }
  int id;
  unsigned char bytes[20];
};

// ---- the kinds ----

template <std::size_t Bytes, class... Policies>
struct on_storage {
  using arena_type = arena<Policies...>;
  std::vector<std::byte> bytes = std::vector<std::byte>(Bytes + 3);
  std::optional<arena_type> memory{std::in_place, std::span(bytes).subspan(3)};
  void audit() const { ASSERT_EQ(memory->capacity_bytes(), Bytes); }
};
template <std::size_t Bytes, class... Policies>
struct inside {
  using arena_type = static_arena<Bytes, Policies...>;
  std::optional<arena_type> memory{std::in_place};
  void audit() const { ASSERT_EQ(memory->capacity_bytes(), Bytes); }
};
template <arena_growth Growth, std::size_t SourceBytes, class... Policies>
struct on_chunks {
  using arena_type = arena<test_source_ref, Policies...>;
  test_source source{.pieces = {}, .bytes_allowed = SourceBytes};
  std::optional<arena_type> memory{std::in_place, Growth, test_source_ref{&source}};
  void audit() const {
    const arena_stats s = memory->stats();
    ASSERT_EQ(s.chunks, source.pieces.size());
    ASSERT_EQ(s.capacity_bytes + s.chunks * align_up(5 * sizeof(void*), alignof(std::max_align_t)),
              source.bytes);
    ASSERT_LE(source.bytes, Growth.max_bytes);
    ASSERT_EQ(source.wrong, 0u);
  }
};
template <std::size_t Bytes>
struct borrowing {
  using arena_type = arena<exhaustion::upstream<test_source>>;
  test_source source;
  std::vector<std::byte> bytes = std::vector<std::byte>(Bytes);
  std::optional<arena_type> memory{std::in_place, std::span(bytes), exhaustion::upstream(source)};
  void audit() const { ASSERT_EQ(source.wrong, 0u); }
};

struct block {
  void* p;
  std::size_t size;
  std::size_t alignment;
  unsigned char pattern;
  bool freed = false;  // given back while not topmost: still the arena's
  bool ours = true;    // false: borrowed
  order ids = {};      // of the objects in it, in the order of construction

  void fill() const { std::memset(p, pattern, size); }
  [[nodiscard]] bool intact() const {
    const auto* const bytes = static_cast<const unsigned char*>(p);
    for (std::size_t i = 0; i < size; ++i) {
      if (bytes[i] != pattern) return false;
    }
    return true;
  }
};

/// `Choices` has below(n): a number below n.
template <class Arena, class Choices>
class model {
 public:
  model(Arena& memory, Choices& choices) : arena_(memory), choices_(choices) { grave = &graves_; }

  void step() {
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        return allocate();
      case 5:
        return create<mortal<8>>();
      case 6:
        return create<mortal<64>>();
      case 7:
        return create_array<mortal<8>>();
      case 8:
        return create_array<mortal<64>>();
      case 9:
      case 10:
        return deallocate();
      case 11:
        return extend();
      case 12:
      case 13:
        marks_.push_back({arena_.mark(), blocks_.size()});
        return;
      case 14:
        if (!marks_.empty()) rewind(below(marks_.size()));
        return;
      default:
        if (below(8) == 0) reset();
        if (below(4) == 0) trim();
    }
  }

  void check() const {
    for (const block& b : blocks_) {
      if (b.freed) continue;
      ASSERT_TRUE(!b.ids.empty() || b.intact());
      ASSERT_TRUE(is_aligned(b.p, b.alignment));
      ASSERT_EQ(arena_.owns(b.p), b.ours);
    }
    const arena_stats s = arena_.stats();
    ASSERT_LE(s.used_bytes, s.capacity_bytes);
    if (Arena::counting_type::counts) {
      ASSERT_GE(s.peak_bytes, s.used_bytes);
      ASSERT_EQ(s.allocations, allocated_);
    }
    // No two blocks share a byte.
    std::vector<const block*> sorted;
    for (const block& b : blocks_) sorted.push_back(&b);
    std::sort(sorted.begin(), sorted.end(),
              [](const block* a, const block* b) { return a->p < b->p; });
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      ASSERT_GE(static_cast<const std::byte*>(sorted[i]->p),
                static_cast<const std::byte*>(sorted[i - 1]->p) + sorted[i - 1]->size);
    }
  }

  void give_back_borrowed() {
    for (block& b : blocks_) {
      if (!b.ours && !b.freed && b.ids.empty()) arena_.deallocate(b.p, b.size, b.alignment);
    }
  }
  /// What the arena's end has to do.
  [[nodiscard]] order expected_end() const { return ends_from(0); }
  [[nodiscard]] const order& graves() const { return graves_; }

 private:
  struct mark {
    arena_marker place;
    std::size_t blocks;
  };

  std::size_t below(std::size_t n) { return choices_.below(n); }

  void note(void* p, std::size_t size, std::size_t alignment, order ids) {
    const bool ours = arena_.owns(p);
    if (ours) ++allocated_;
    blocks_.push_back(
        {p, size, alignment, static_cast<unsigned char>(below(256)), false, ours, std::move(ids)});
    if (blocks_.back().ids.empty()) blocks_.back().fill();
  }

  void allocate() {
    const std::size_t size = below(10) == 0 ? below(5000) : below(200);
    const std::size_t alignment = std::size_t{1} << (below(6) == 0 ? below(13) : below(5));
    void* const p = arena_.allocate(size, alignment);
    if (p == nullptr) return;
    note(p, size == 0 ? 1 : size, alignment, {});
  }
  template <class T>
  void create() {
    const int id = next_id;
    T* const p = arena_.template create<T>();
    if (p == nullptr) {
      ASSERT_EQ(next_id, id);
      return;
    }
    ASSERT_EQ(p->id, id);
    note(p, sizeof(T), alignof(T), {id});
  }
  template <class T>
  void create_array() {
    const std::size_t n = 1 + below(9);
    T* const p = arena_.template create_array<T>(n);
    if (p == nullptr) return;
    order ids;
    for (std::size_t i = 0; i < n; ++i) ids.push_back(p[i].id);
    note(p, n * sizeof(T), alignof(T), ids);
  }
  void deallocate() {
    if (blocks_.empty()) return;
    const std::size_t i = below(2) == 0 ? blocks_.size() - 1 : below(blocks_.size());
    block& b = blocks_[i];
    if (b.freed || !b.ids.empty()) return;
    const bool last = i + 1 == blocks_.size();
    const std::size_t before = arena_.used_bytes();
    arena_.deallocate(b.p, b.size, b.alignment);
    if (!b.ours) {
      ASSERT_EQ(arena_.used_bytes(), before);
    } else if (arena_.used_bytes() != before) {
      // Blocks borrowed later may stand behind it in the list.
      ASSERT_TRUE(last || !blocks_.back().ours || blocks_.back().freed);
    } else if (b.ours) {
      b.freed = true;
      return;
    }
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
    forget_marks_after(i);
  }
  void extend() {
    if (blocks_.empty()) return;
    block& b = blocks_.back();
    if (b.freed || !b.ids.empty()) return;
    const std::size_t size = 1 + below(400);
    const std::size_t before = arena_.used_bytes();
    if (!arena_.try_extend(b.p, b.size, size)) {
      ASSERT_EQ(arena_.used_bytes(), before);
      return;
    }
    ASSERT_EQ(arena_.used_bytes(), before - b.size + size);
    if (size <= b.size) {
      b.size = size;
      ASSERT_TRUE(b.intact());
    } else {
      ASSERT_TRUE(b.intact());
      b.size = size;
    }
    b.fill();
    forget_marks_after(blocks_.size() - 1);
  }

  void forget_marks_after(std::size_t i) {
    while (!marks_.empty() && marks_.back().blocks > i) marks_.pop_back();
  }
  [[nodiscard]] order ends_from(std::size_t first) const {
    order ends;
    for (std::size_t i = blocks_.size(); i-- > first;) {
      ends.insert(ends.end(), blocks_[i].ids.rbegin(), blocks_[i].ids.rend());
    }
    return ends;
  }
  void drop_from(std::size_t first) {
    for (std::size_t i = first; i < blocks_.size(); ++i) {
      const block& b = blocks_[i];
      if (!b.ours && !b.freed && b.ids.empty()) arena_.deallocate(b.p, b.size, b.alignment);
    }
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(first), blocks_.end());
  }
  void rewind(std::size_t k) {
    const mark m = marks_[k];
    const order expected = ends_from(m.blocks);
    const std::size_t capacity = arena_.capacity_bytes();
    arena_.rewind(m.place);
    ASSERT_EQ(graves_, expected);
    ASSERT_EQ(arena_.capacity_bytes(), capacity);
    graves_.clear();
    drop_from(m.blocks);
    marks_.resize(k + 1);  // the marker itself can be used again
  }
  void reset() {
    const order expected = ends_from(0);
    const std::size_t capacity = arena_.capacity_bytes();
    arena_.reset();
    ASSERT_EQ(graves_, expected);
    ASSERT_EQ(arena_.used_bytes(), 0u);
    ASSERT_EQ(arena_.capacity_bytes(), capacity);
    graves_.clear();
    drop_from(0);
    marks_.clear();
  }
  void trim() {
    const std::size_t capacity = arena_.capacity_bytes();
    const std::size_t used = arena_.used_bytes();
    const std::size_t gone = arena_.trim();
    ASSERT_LE(arena_.capacity_bytes(), capacity);
    ASSERT_EQ(gone == 0, arena_.capacity_bytes() == capacity);
    ASSERT_EQ(arena_.used_bytes(), used);
    ASSERT_EQ(arena_.trim(), 0u);
  }

  Arena& arena_;
  Choices& choices_;
  std::vector<block> blocks_;
  std::vector<mark> marks_;
  order graves_;
  std::size_t allocated_ = 0;
};

/// Effects: steps as long as more(step) says so, checked on the way, then the arena's end.
template <class Kind, class Choices, class More>
void run_against_model(Choices& choices, More more) {
  Kind kind;
  model<typename Kind::arena_type, Choices> m(*kind.memory, choices);
  for (int step = 0; more(step); ++step) {
    m.step();
    if (step % 16 == 0) m.check();
    kind.audit();
    if (testing::Test::HasFatalFailure()) return;
  }
  m.give_back_borrowed();
  const order expected = m.expected_end();
  kind.memory.reset();
  ASSERT_EQ(m.graves(), expected);
  if constexpr (requires { kind.source; }) {
    ASSERT_TRUE(kind.source.pieces.empty());
    ASSERT_EQ(kind.source.wrong, 0u);
  }
}

}  // namespace ashlar_test
