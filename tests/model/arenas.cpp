// Arenas: blocks that go together, by markers within markers.
#include <mutex>
#include <span>
#include <tests/model/subject.hpp>
#include <tests/support/require.hpp>

#include <ashlar/arena/arena.hpp>
#include <ashlar/arena/test_source.hpp>

namespace model {
namespace {

using namespace ashlar;

/// Law: the blocks are in the order in which they were allocated, and marks are places in that order.
template <class Room>
class arena_subject final : public subject {
 public:
  arena_subject(const char* name, draw choices) : subject(name), room_(choices) {}

  void run(std::size_t, sequence& operations, std::uint64_t count) override {
    const style s = choose_style(draw(operations.next()));
    for (; count > 1; --count) {
      const std::uint64_t number = operations.next();
      step(number, draw(number), s);
    }
  }
  void verify(std::size_t) const override {
    for (const block& b : blocks_) model::verify(b);
  }
  void audit() override {
    verify(0);
    const arena_stats s = room_.memory.stats();
    std::size_t bytes = 0;
    for (const block& b : blocks_) bytes += taken_bytes(b);
    require(bytes <= s.used_bytes && s.used_bytes <= s.capacity_bytes, [&] {
      return "blocks of " + std::to_string(bytes) + " bytes in " + std::to_string(s.used_bytes) +
             " used ones of " + std::to_string(s.capacity_bytes);
    });
    require(s.allocations == allocations_, [&] {
      return "the arena counted " + std::to_string(s.allocations) + " allocations, the model " +
             std::to_string(allocations_);
    });
  }
  void add_ranges(std::vector<range>& all) const override {
    for (const block& b : blocks_) {
      const auto begin = reinterpret_cast<std::uintptr_t>(b.address);
      all.push_back({begin, begin + taken_bytes(b), name()});
    }
  }
  void end() override {
    audit();
    blocks_.clear();
    marks_.clear();
    room_.memory.reset();
    require(room_.memory.stats().used_bytes == 0, [] { return "bytes are used after a reset"; });
  }

 private:
  struct mark {
    arena_marker place;
    std::size_t blocks;
    std::size_t used_bytes;
  };

  void step(std::uint64_t number, draw d, const style& s) {
    const std::size_t dice = d.below(1024);
    if (dice < 700 && blocks_.size() < 4000) {
      allocate(number, d, s);
    } else if (dice < 760) {
      if (!blocks_.empty()) verify_stripe(blocks_[d.below(blocks_.size())], d.below(64));
    } else if (dice < 840) {
      marks_.push_back({room_.memory.mark(), blocks_.size(), room_.memory.used_bytes()});
    } else if (dice < 900) {
      extend_top(d);
    } else if (dice < 960) {
      free_top();
    } else if (dice < 1020) {
      if (!marks_.empty()) rewind(d.one_in(8) ? d.below(marks_.size()) : marks_.size() - 1);
    } else if (dice == 1023) {
      marks_.clear();
      blocks_.clear();
      room_.memory.reset();
    } else if (dice == 1022) {
      room_.memory.trim();  // chunks with a block stay
    } else {
      room_.memory.deallocate(nullptr, 1);
    }
  }

  void allocate(std::uint64_t key, draw d, const style& s) {
    block b;
    b.size = s.one_size != 0 ? s.one_size % 300 : d.below(200);
    b.usable = std::max<std::size_t>(b.size, 1);
    b.alignment = std::size_t{1} << d.below(d.one_in(8) ? 9 : 5);
    b.key = key;
    b.address = d.one_in(2) ? room_.memory.try_allocate(b.size, b.alignment)
                            : room_.memory.allocate(b.size, b.alignment);
    if (b.address == nullptr) {
      require(room_.refusal(b), [&] { return "null with room left for a " + describe(b); });
      return;
    }
    ++allocations_;
    require(reinterpret_cast<std::uintptr_t>(b.address) % b.alignment == 0,
            [&] { return "misaligned: " + describe(b); });
    require(room_.memory.owns(b.address), [&] { return "not its own: " + describe(b); });
    fill(b);
    blocks_.push_back(b);
  }

  [[nodiscard]] bool top_is_marked() const {
    return blocks_.empty() || (!marks_.empty() && marks_.back().blocks == blocks_.size());
  }

  void extend_top(draw d) {
    if (top_is_marked()) return;
    block& top = blocks_.back();
    const std::size_t size = d.below(300);
    model::verify(top);
    if (!room_.memory.try_extend(top.address, top.size, size)) return;
    model::verify(top, top.address, std::min(top.usable, std::max<std::size_t>(size, 1)));
    top.size = size;
    top.usable = std::max<std::size_t>(size, 1);
    fill(top);
  }

  void free_top() {
    if (top_is_marked()) return;
    const block top = blocks_.back();
    model::verify(top);
    room_.memory.deallocate(top.address, top.size, top.alignment);
    blocks_.pop_back();
  }

  /// What was used at a mark is used again after the rewind; less where chunks' ends were counted.
  void rewind(std::size_t to) {
    const mark m = marks_[to];
    for (std::size_t i = m.blocks; i < blocks_.size(); ++i) model::verify(blocks_[i]);
    blocks_.resize(m.blocks);
    marks_.resize(to);
    room_.memory.rewind(m.place);
    const std::size_t used = room_.memory.used_bytes();
    require(room_.grows ? used <= m.used_bytes : used == m.used_bytes, [&] {
      return std::to_string(used) + " bytes used after a rewind to " + std::to_string(m.used_bytes);
    });
  }

  Room room_;
  std::vector<block> blocks_;
  std::vector<mark> marks_;
  std::uint64_t allocations_ = 0;
};

template <class... Policies>
struct bounded {
  static constexpr bool grows = false;
  explicit bounded(draw d) : storage(d.below(1 << 17)), memory(std::span(storage)) {}
  [[nodiscard]] bool refusal(const block& b) const {
    const arena_stats s = memory.stats();
    return s.capacity_bytes - s.used_bytes < b.usable + b.alignment;
  }
  std::vector<std::byte> storage;
  arena<Policies...> memory;
};

template <class... Policies>
struct on_chunks {
  static constexpr bool grows = true;
  explicit on_chunks(draw d)
      : source(d), memory(growth(d), ashlar_test::test_source_ref{&source}) {}
  [[nodiscard]] bool refusal(const block&) const { return source.bytes_allowed != SIZE_MAX; }

  static arena_growth growth(draw& d) {
    return {.first_chunk_bytes = d.below(5000),
            .max_chunk_bytes = d.one_in(2) ? d.below(20'000) : SIZE_MAX};
  }
  struct limited_source : ashlar_test::test_source {
    explicit limited_source(draw& d) {
      if (d.one_in(3)) bytes_allowed = d.below(1 << 17);
    }
    ~limited_source() { REQUIRE(pieces.empty() && wrong == 0); }
  } source;
  arena<ashlar_test::test_source_ref, Policies...> memory;
};

template <class Room>
kind arena_kind(const char* name, unsigned weight) {
  return {name, weight, false, true, [](const char* called, std::size_t, draw choices) {
            return std::unique_ptr<subject>(std::make_unique<arena_subject<Room>>(called, choices));
          }};
}

}  // namespace

std::vector<kind> arena_kinds() {
  return {arena_kind<bounded<>>("arena", 6), arena_kind<bounded<std::mutex>>("arena_mutex", 3),
          arena_kind<on_chunks<>>("arena_growing", 6)};
}

}  // namespace model
