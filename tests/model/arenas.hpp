// model/arenas.hpp: blocks and objects that go together, by markers within markers and scopes within scopes.
#pragma once

#include <optional>
#include <tests/model/subject.hpp>

#include <ashlar/arena/arena.hpp>
#include <ashlar/arena/static_arena.hpp>
#include <ashlar/arena/test_source.hpp>

namespace model::arenas {

using namespace ashlar;
using ashlar_test::checked_source;

/// The objects of one arena: how many were made, and the numbers of those that have ended since somebody looked.
struct lives {
  std::uint32_t made = 0;
  std::vector<std::uint32_t> ended;
};
inline thread_local lives* here = nullptr;

template <std::size_t Alignment>
struct alignas(Alignment) mortal {
  mortal() : self(this), number(here->made++) {}
  mortal(const mortal&) = delete;
  mortal& operator=(const mortal&) = delete;
  ~mortal() {
    REQUIRE(self == this);
    here->ended.push_back(number);
  }
  const mortal* self;
  std::uint32_t number;
  std::byte bytes[20] = {};
};

/// Law: the blocks are in the order in which they were allocated, and marks are places in that order.
template <class Room>
class arena_subject final : public subject {
 public:
  arena_subject(const char* name, draw choices) : subject(name), room_(std::in_place, choices) {}
  ~arena_subject() override { here = &lives_; }

  void run(std::size_t, sequence& operations, std::uint64_t count) override {
    here = &lives_;
    const style s = choose_style(draw(operations.next()));
    for (; count > 1; --count) {
      const std::uint64_t number = operations.next();
      step(number, draw(number), s);
    }
  }
  void verify(std::size_t) const override { verify_from(0); }
  void audit() override {
    verify_from(0);
    require(lives_.ended.empty(), [] { return "an object ended without being told to"; });
    const arena_stats s = memory().stats();
    std::size_t bytes = 0;
    for (const entry& e : blocks_) {
      if (e.ours) bytes += taken_bytes(e.b);
      if (!e.freed)
        require(memory().owns(e.b.address) == e.ours, [&] { return "whose: " + describe(e.b); });
    }
    require(bytes <= s.used_bytes && s.used_bytes <= s.capacity_bytes, [&] {
      return "blocks of " + std::to_string(bytes) + " bytes in " + std::to_string(s.used_bytes) +
             " used ones of " + std::to_string(s.capacity_bytes);
    });
    if (arena_type::counting_type::counts) {
      require(s.allocations == allocations_, [&] {
        return "the arena counted " + std::to_string(s.allocations) + " allocations, the model " +
               std::to_string(allocations_);
      });
      require(s.peak_bytes >= s.used_bytes, [] { return "more in use than at the peak"; });
    }
    room_->check(s);
  }
  void add_ranges(std::vector<range>& all) const override {
    for (const entry& e : blocks_) {
      const auto begin = reinterpret_cast<std::uintptr_t>(e.b.address);
      all.push_back({begin, begin + taken_bytes(e.b), name()});
    }
  }
  /// The arena's end is the end of its objects.
  void end() override {
    here = &lives_;
    audit();
    give_back_borrowed(0);
    room_.reset();
    require_ended_from(0);
    blocks_.clear();
  }

 private:
  using arena_type = typename Room::arena_type;
  struct entry {
    block b;
    std::uint32_t first = 0, objects = 0;  ///< the numbers of its objects
    bool ours = true;                      ///< false: borrowed
    bool freed = false;                    ///< while it was not the topmost: still the arena's
  };
  struct mark {
    arena_marker place;
    std::size_t blocks, used_bytes;
  };

  arena_type& memory() { return room_->memory; }
  const arena_type& memory() const { return room_->memory; }

  void step(std::uint64_t number, draw d, const style& s) {
    const std::size_t dice = d.below(1024);
    if (dice < 700 && blocks_.size() < 4000) {
      dice < 520 ? allocate(number, d, s) : create(d);
    } else if (dice < 740) {
      if (blocks_.empty()) return;
      const entry& e = blocks_[d.below(blocks_.size())];
      if (holds_a_pattern(e)) verify_stripe(e.b, d.below(64));
    } else if (dice < 830) {
      marks_.push_back({memory().mark(), blocks_.size(), memory().used_bytes()});
    } else if (dice < 890) {
      extend_top(d);
    } else if (dice < 950) {
      free_one(d);
    } else if (dice < 1000) {
      if (!marks_.empty()) rewind(d.one_in(8) ? d.below(marks_.size()) : marks_.size() - 1);
    } else if (dice < 1010) {
      support::random_source random = d.source();
      in_scope(random, s, 0);
    } else if (dice < 1019) {
      trim();
    } else if (dice < 1023) {
      reset();
    } else {
      memory().deallocate(nullptr, 1);
    }
  }

  void add(entry e) {
    e.ours = memory().owns(e.b.address);
    require(e.ours || Room::borrows, [&] { return "not its own: " + describe(e.b); });
    require(reinterpret_cast<std::uintptr_t>(e.b.address) % e.b.alignment == 0,
            [&] { return "misaligned: " + describe(e.b); });
    if (e.ours) ++allocations_;
    if (e.objects == 0) fill(e.b);
    blocks_.push_back(e);
  }

  void allocate(std::uint64_t key, draw d, const style& s) {
    block b;
    b.size = s.one_size != 0 ? s.one_size % 300 : d.below(d.one_in(10) ? 5000 : 200);
    b.usable = std::max<std::size_t>(b.size, 1);
    b.alignment = std::size_t{1} << d.below(d.one_in(8) ? 13 : 5);
    b.key = key;
    const bool tries = d.one_in(2);
    b.address =
        tries ? memory().try_allocate(b.size, b.alignment) : memory().allocate(b.size, b.alignment);
    if (b.address != nullptr) return add({b});
    require(refuses(b.usable + b.alignment, tries),
            [&] { return "null with room left for a " + describe(b); });
  }

  /// What can borrow does, unless it is only tried.
  [[nodiscard]] bool refuses(std::size_t bytes, bool tries) const {
    return (tries || !Room::borrows) && room_->refuses(bytes);
  }

  void create(draw d) { d.one_in(2) ? create_of<mortal<8>>(d) : create_of<mortal<64>>(d); }
  template <class T>
  void create_of(draw d) {
    const std::uint32_t first = lives_.made;
    const auto n = static_cast<std::uint32_t>(d.one_in(2) ? 1 : 2 + d.below(8));
    const bool tries = d.one_in(2);
    T* const p = n == 1
                     ? (tries ? memory().template try_create<T>() : memory().template create<T>())
                 : tries ? memory().template try_create_array<T>(n)
                         : memory().template create_array<T>(n);
    require(lives_.made == first + (p == nullptr ? 0 : n),
            [] { return "as many objects as constructors"; });
    block b;
    b.address = p;
    b.size = b.usable = n * sizeof(T);
    b.alignment = alignof(T);
    if (p != nullptr) return add({b, first, n});
    require(refuses(b.usable + b.alignment + 8 * sizeof(void*), tries),
            [&] { return "null with room left for objects: a " + describe(b); });
  }

  void extend_top(draw d) {
    if (blocks_.empty() || !holds_a_pattern(blocks_.back())) return;
    block& top = blocks_.back().b;
    const std::size_t size = d.below(400);
    const std::size_t usable = std::max<std::size_t>(size, 1);
    const std::size_t before = memory().used_bytes();
    model::verify(top);
    const bool extended = memory().try_extend(top.address, top.size, size);
    require(memory().used_bytes() == (extended ? before - top.usable + usable : before),
            [&] { return "bytes in use after the extension of a " + describe(top); });
    if (!extended) return;
    model::verify(top, top.address, std::min(top.usable, usable));
    top.size = size;
    top.usable = usable;
    fill(top);
    forget_marks_after(blocks_.size() - 1);
  }

  void free_one(draw d) {
    if (blocks_.empty()) return;
    const std::size_t i = d.one_in(2) ? blocks_.size() - 1 : d.below(blocks_.size());
    const auto at = blocks_.begin() + static_cast<std::ptrdiff_t>(i);
    if (!holds_a_pattern(*at)) return;
    const std::size_t before = memory().used_bytes();
    model::verify(at->b);
    memory().deallocate(at->b.address, at->b.size, at->b.alignment);
    const bool fell = memory().used_bytes() != before;
    if (at->ours && !fell) {
      at->freed = true;
      return;
    }
    require(at->ours ? std::none_of(at + 1, blocks_.end(), [](const entry& e) { return e.ours; })
                     : !fell,
            [&] { return "the top fell by what is no topmost block: " + describe(at->b); });
    blocks_.erase(at);
    forget_marks_after(i);
  }

  void in_scope(support::random_source& random, const style& s, int depth) {
    const std::size_t first = blocks_.size(), used = memory().used_bytes();
    bool kept = false;
    {
      arena_scope scope(memory());
      for (std::uint64_t n = random.below(6); n > 0; --n) {
        const std::uint64_t number = random.next();
        random.chance(50) ? allocate(number, draw(number), s) : create(draw(number));
      }
      if (depth < 20 && random.chance(50)) in_scope(random, s, depth + 1);
      kept = random.chance(20);
      if (kept) scope.keep();
      if (!kept) verify_from(first);
    }
    if (!kept) gone_from(first, used);
  }

  void rewind(std::size_t to) {
    const mark m = marks_[to];
    const std::size_t capacity = memory().capacity_bytes();
    verify_from(m.blocks);
    memory().rewind(m.place);
    require(memory().capacity_bytes() == capacity, [] { return "a rewind gave memory back"; });
    gone_from(m.blocks, m.used_bytes);
    marks_.resize(to + 1);  // the marker can be used again
  }
  void reset() {
    const std::size_t capacity = memory().capacity_bytes();
    memory().reset();
    require(memory().capacity_bytes() == capacity, [] { return "a reset gave memory back"; });
    gone_from(0, 0);
    marks_.clear();
  }
  /// Chunks with a block stay.
  void trim() {
    const std::size_t capacity = memory().capacity_bytes(), used = memory().used_bytes();
    const bool gone = memory().trim() != 0;
    require(gone ? memory().capacity_bytes() < capacity : memory().capacity_bytes() == capacity,
            [] { return "a trim gave back another number of bytes than it says"; });
    require(memory().used_bytes() == used && memory().trim() == 0,
            [] { return "a trim took what is in use, or left something"; });
  }

  [[nodiscard]] static bool holds_a_pattern(const entry& e) { return !e.freed && e.objects == 0; }
  void verify_from(std::size_t first) const {
    for (std::size_t i = first; i < blocks_.size(); ++i)
      if (holds_a_pattern(blocks_[i])) model::verify(blocks_[i].b);
  }
  void forget_marks_after(std::size_t i) {
    while (!marks_.empty() && marks_.back().blocks > i) marks_.pop_back();
  }
  void give_back_borrowed(std::size_t first) {
    for (std::size_t i = first; i < blocks_.size(); ++i) {
      const entry& e = blocks_[i];
      if (!e.ours && e.objects == 0) memory().deallocate(e.b.address, e.b.size, e.b.alignment);
    }
  }
  /// Requires that the objects from there on have ended, the newest first, and no other.
  void require_ended_from(std::size_t first) {
    std::vector<std::uint32_t> expected;
    for (std::size_t i = blocks_.size(); i-- > first;)
      for (std::uint32_t n = blocks_[i].objects; n-- > 0;) expected.push_back(blocks_[i].first + n);
    require(lives_.ended == expected, [] { return "objects end in the reverse of their order"; });
    lives_.ended.clear();
  }
  /// What was used then is used again; less where chunks' ends were counted.
  void gone_from(std::size_t first, std::size_t used_then) {
    require_ended_from(first);
    const std::size_t used = memory().used_bytes();
    require(Room::grows ? used <= used_then : used == used_then, [&] {
      return std::to_string(used) + " bytes used after a return to " + std::to_string(used_then);
    });
    give_back_borrowed(first);
    blocks_.resize(first);
  }

  lives lives_;
  std::optional<Room> room_;
  std::vector<entry> blocks_;
  std::vector<mark> marks_;
  std::uint64_t allocations_ = 0;
};

/// What has an end of its own refuses only what does not fit.
template <class Arena>
bool is_full(const Arena& memory, std::size_t bytes) {
  const arena_stats s = memory.stats();
  return s.capacity_bytes - s.used_bytes < bytes;
}

template <class... Policies>
struct bounded {
  using arena_type = arena<Policies...>;
  static constexpr bool grows = false, borrows = false;
  explicit bounded(draw d) : storage(3 + d.below(d.one_in(4) ? 64 : 1 << 17)) {}
  [[nodiscard]] bool refuses(std::size_t bytes) const { return is_full(memory, bytes); }
  void check(const arena_stats& s) const { REQUIRE(s.capacity_bytes == storage.size() - 3); }
  std::vector<std::byte> storage;
  arena_type memory{std::span(storage).subspan(3)};
};

template <std::size_t Bytes, class... Policies>
struct inside {
  using arena_type = static_arena<Bytes, Policies...>;
  static constexpr bool grows = false, borrows = false;
  explicit inside(draw) {}
  [[nodiscard]] bool refuses(std::size_t bytes) const { return is_full(memory, bytes); }
  static void check(const arena_stats& s) { REQUIRE(s.capacity_bytes == Bytes); }
  arena_type memory;
};

template <class... Policies>
struct on_chunks {
  using arena_type = arena<ashlar_test::test_source_ref, Policies...>;
  static constexpr bool grows = true, borrows = false;
  explicit on_chunks(draw d)
      : growth{.first_chunk_bytes = d.below(5000),
               .max_chunk_bytes = d.one_in(2) ? d.below(20'000) : SIZE_MAX,
               .max_bytes = d.one_in(4) ? d.below(20'000) : SIZE_MAX},
        source(bytes_allowed(draw(d.source().next()))) {}
  [[nodiscard]] bool refuses(std::size_t) const {
    return source.bytes_allowed != SIZE_MAX || growth.max_bytes != SIZE_MAX;
  }
  void check(const arena_stats& s) const {
    constexpr std::size_t head = align_up(5 * sizeof(void*), alignof(std::max_align_t));
    REQUIRE(s.chunks == source.pieces.size());
    REQUIRE(s.capacity_bytes + s.chunks * head == source.bytes);
    REQUIRE(source.bytes <= growth.max_bytes && source.wrong == 0);
  }
  arena_growth growth;
  checked_source source;
  arena_type memory{growth, ashlar_test::test_source_ref{&source}};
};

/// What does not fit is of an upstream, which has all that is asked for.
struct borrowing {
  using arena_type = arena<exhaustion::upstream<checked_source>>;
  static constexpr bool grows = false, borrows = true;
  explicit borrowing(draw d) : storage(d.below(4000)) {}
  [[nodiscard]] bool refuses(std::size_t bytes) const { return is_full(memory, bytes); }
  void check(const arena_stats&) const { REQUIRE(source.wrong == 0); }
  checked_source source;
  std::vector<std::byte> storage;
  arena_type memory{std::span(storage), exhaustion::upstream(source)};
};

template <class Room>
kind arena_kind(const char* name, unsigned weight) {
  return {name, weight, false, true, [](const char* called, std::size_t, draw choices) {
            return std::unique_ptr<subject>(std::make_unique<arena_subject<Room>>(called, choices));
          }};
}

inline std::vector<kind> all() {
  return {
      arena_kind<bounded<>>("arena", 5),
      arena_kind<bounded<std::mutex, counting::none>>("arena_mutex", 2),
      arena_kind<inside<3000>>("static_arena", 2),
      arena_kind<inside<0, spin_lock>>("static_arena_empty", 1),
      arena_kind<on_chunks<>>("arena_growing", 5),
      arena_kind<on_chunks<std::mutex, counting::none>>("arena_growing_mutex", 2),
      arena_kind<borrowing>("arena_borrowing", 3),
  };
}

}  // namespace model::arenas
