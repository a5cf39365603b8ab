// model/sets.hpp: sets of pools, and lists that are refilled.
#pragma once

#include <tests/model/subject.hpp>

#include <ashlar/arena/test_source.hpp>
#include <ashlar/compat/growing_pool_set.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/refill_lists.hpp>

namespace model::sets {

using namespace ashlar;
using ashlar_test::test_source_ref;

/// A source that has an end at times; all is back when it ends.
struct limited_source : ashlar_test::test_source {
  explicit limited_source(draw d) {
    if (d.one_in(3))
      bytes_allowed = std::size_t{1} << d.below(20);  // short of memory more often than not
  }
  ~limited_source() { REQUIRE(pieces.empty() && wrong == 0); }
};

template <template <class...> class Set, class... Policies>
using four_classes =
    Set<blocks<13, 30>, blocks<64, 20, 64>, blocks<150, 10>, blocks<396, 6>, Policies...>;

template <template <class...> class Set, class... Policies>
struct on_source {
  explicit on_source(draw d) : source(d), set(test_source_ref{&source}) {}
  limited_source source;
  four_classes<Set, test_source_ref, Policies...> set;
};
template <class... Policies>
struct inside {
  explicit inside(draw) {}
  four_classes<static_pool_set, Policies...> set;
};

/// How a set is called: by its own functions.
template <class Set>
class directly {
 public:
  explicit directly(Set& set) : set_(set) {}
  void* allocate(const request& r, draw& d) {
    return d.one_in(2) ? set_.try_allocate(r.size, r.alignment)
                       : set_.allocate(r.size, r.alignment);
  }
  void deallocate(const block& b, draw& d) {
    d.one_in(2) ? set_.deallocate(b.address) : set_.deallocate(b.address, b.size, b.alignment);
  }

 private:
  Set& set_;
};

/// One that threads share has blocks that the model does not know of.
template <class Room, template <class> class Call = directly, bool Shared = false>
class set_face {
  using set_type = decltype(Room::set);
  /// One that grows has more blocks of a class than it says.
  static constexpr bool exact = !Shared && requires {
    set_type::spills_to_larger;
    set_type::block_count(0);
  };

 public:
  static constexpr std::size_t slots = 100;
  static constexpr std::size_t most_bytes = SIZE_MAX;
  static constexpr bool reallocates = false;
  static constexpr bool frees_all_at_end = false;

  explicit set_face(draw d) : room_(d), call_(room_.set) {}

  static request choose(draw& d, const style& s) {
    request r{s.one_size != 0 ? s.one_size % 400 : d.below(420)};
    r.alignment = std::size_t{1} << d.below(d.one_in(8) ? 8 : 4);
    return r;
  }
  bool refusal(const request& r, const totals&) const {
    return !exact || !has_memory() || serving(r) == set_type::class_count;
  }

  block allocate(const request& r, draw& d) {
    block b;
    b.size = r.size;
    b.alignment = r.alignment;
    const std::size_t expected = serving(r);
    b.address = call_.allocate(r, d);
    if (b.address == nullptr) return b;
    b.usable = room_.set.usable_size(b.address);
    const std::size_t c = index_of(b.usable);
    require(!exact || c == expected, [&] { return "of the wrong class: " + describe(b); });
    if (!Shared) ++used_[c];
    return b;
  }
  static block reallocate(const block& old, std::size_t) { return old; }
  void deallocate(const block& b, draw& d) {
    if (!Shared) --used_[index_of(b.usable)];
    call_.deallocate(b, d);
  }
  void look(const block& b) const {
    require(room_.set.owns(b.address) && room_.set.usable_size(b.address) == b.usable,
            [&b] { return "usable size or owner: " + describe(b); });
  }
  void rarely(draw) {
    require(room_.set.try_allocate(SIZE_MAX - 100) == nullptr, [] { return "an absurd size"; });
    room_.set.deallocate(nullptr);
  }
  template <class Subject>
  void audit(const totals& all, const Subject& self) const {
    require(room_.set.audit(), [] { return "audit of a set"; });
    std::uint64_t counted[8] = {};
    self.each_block([&](const block& b) { ++counted[index_of(b.usable)]; });
    const auto stats = room_.set.stats();
    std::uint64_t blocks = 0;
    for (std::size_t c = 0; c < std::size(stats.classes); ++c) {
      require(stats.classes[c].blocks_in_use == counted[c], [&] {
        return "class " + std::to_string(c) + " has " +
               std::to_string(stats.classes[c].blocks_in_use) + " blocks in use, the model " +
               std::to_string(counted[c]);
      });
      require(stats.classes[c].peak_in_use <= stats.classes[c].capacity,
              [] { return "a peak above the capacity"; });
      blocks += counted[c];
    }
    if (exact && stats.allocations() != 0)
      require(stats.allocations() == all.allocations && stats.frees() == all.frees,
              [] { return "other allocations and frees than the model's"; });
    require(blocks == all.blocks, [] { return "a block of no class"; });
  }

 private:
  [[nodiscard]] bool has_memory() const {
    if constexpr (requires { room_.set.has_memory(); }) return room_.set.has_memory();
    return true;
  }
  /// Returns: the smallest class that fits and has a block, or as many as there are classes.
  [[nodiscard]] std::size_t serving([[maybe_unused]] const request& r) const {
    std::size_t c = 0;
    if constexpr (exact) {
      constexpr std::size_t none = set_type::class_count;
      const auto is_used_up = [&] { return used_[c] == set_type::block_count(c); };
      c = set_type::class_of(r.size, r.alignment);
      if (!set_type::spills_to_larger) return c < none && is_used_up() ? none : c;
      while (c < none && (is_used_up() || set_type::block_alignment(c) < r.alignment)) ++c;
    }
    return c;
  }
  static std::size_t index_of(std::size_t usable) {
    std::size_t c = 0;
    while (c < set_type::class_count && set_type::block_size(c) != usable) ++c;
    require(c < set_type::class_count, [&] { return "no class of " + std::to_string(usable); });
    return c;
  }

  Room room_;
  Call<set_type> call_;
  std::size_t used_[8] = {};
};

template <std::size_t Bound, std::size_t Granule, class... Policies>
class lists_face {
 public:
  static constexpr std::size_t slots = 2000;
  static constexpr std::size_t most_bytes = SIZE_MAX;
  static constexpr bool reallocates = false;
  static constexpr bool frees_all_at_end = false;

  explicit lists_face(draw d) : source_(d), lists_(test_source_ref{&source_}) {}

  /// Without a lock a few go to the source one by one; with one the source would need a lock, too.
  static request choose(draw& d, const style& s) {
    request r{s.one_size != 0 ? s.one_size % (Bound + 1) : d.below(Bound + 1),
              std::size_t{1} << d.below(locked ? 4 : 5)};
    if (!locked && d.one_in(64)) r = {d.below(1000), std::size_t{1} << d.below(8)};
    return r;
  }
  [[nodiscard]] bool refusal(const request&, const totals&) const {
    return source_.bytes_allowed != SIZE_MAX;
  }
  block allocate(const request& r, draw& d) {
    block b;
    b.size = r.size;
    b.alignment = r.alignment;
    b.address = d.one_in(2) ? lists_.try_allocate(r.size, r.alignment)
                            : lists_.allocate(r.size, r.alignment);
    b.usable = std::max<std::size_t>(r.size, 1);  // what lies behind belongs to nobody
    return b;
  }
  static block reallocate(const block& old, std::size_t) { return old; }
  void deallocate(const block& b, draw&) { lists_.deallocate(b.address, b.size, b.alignment); }
  void look(const block& b) const {
    require(lists_.owns(b.address) == (lists_type::list_bytes(b.size, b.alignment) != 0),
            [&b] { return "owner: " + describe(b); });
  }
  void rarely(draw) { lists_.deallocate(nullptr, 8); }
  template <class Subject>
  void audit(const totals&, const Subject& self) const {
    require(lists_.audit(), [] { return "audit of the lists"; });
    std::size_t in_use = 0;
    self.each_block([&](const block& b) { in_use += lists_type::list_bytes(b.size, b.alignment); });
    require(lists_.stats().bytes_in_use == in_use, [&] {
      return "the lists have " + std::to_string(lists_.stats().bytes_in_use) +
             " bytes in use, the model " + std::to_string(in_use);
    });
  }

 private:
  using lists_type = refill_lists<test_source_ref, Bound, Granule, Policies...>;
  static constexpr bool locked = std::disjunction_v<std::is_same<Policies, std::mutex>...>;

  limited_source source_;
  lists_type lists_;
};

inline std::vector<kind> all() {
  return {
      kind_of<set_face<inside<>>>("static_pool_set", 5),
      kind_of<set_face<inside<spill::never, check::none>>>("static_pool_set_unchecked", 4),
      kind_of<set_face<inside<check::full<4>>>>("static_pool_set_full_check", 3),
      kind_of<set_face<inside<std::mutex, spill::never>>>("static_pool_set_mutex", 1),
      kind_of<set_face<inside<lock_free<std::uint32_t>, check::none, spill::never>>>(
          "static_pool_set_lock_free", 1),
      kind_of<set_face<inside<check::none, counting::none>>>("static_pool_set_uncounted", 1),
      kind_of<set_face<on_source<pool_set>>>("pool_set", 4),
      kind_of<set_face<on_source<pool_set, spill::never, check::full<>>>>("pool_set_full_check", 1),
      kind_of<set_face<on_source<pool_set, lock_free<>, counting::none>>>("pool_set_uncounted", 1),
      kind_of<set_face<on_source<growing_pool_set>>>("growing_pool_set", 4),
      kind_of<lists_face<128, 8>>("refill_lists", 8),
      kind_of<lists_face<4096, 8>>("refill_lists_4096", 1),
      kind_of<lists_face<1024, 64>>("refill_lists_1024_by_64", 1),
      kind_of<lists_face<24, 8, check::none>>("refill_lists_unchecked", 1),
      kind_of<set_face<inside<lock_free<std::uint32_t>>, directly, true>>("pool_set_lock_free", 4,
                                                                          true, false),
      kind_of<set_face<inside<spin_lock>, directly, true>>("pool_set_spin", 4, true, false),
      kind_of<lists_face<128, 8, std::mutex>>("refill_lists_mutex", 4, true, false),
  };
}

}  // namespace model::sets
