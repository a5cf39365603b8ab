// Heap instances with budgets, of the system or of a source, and the heap's engine on pages that are refused.
#include <array>
#include <optional>
#include <tests/fuzz/stop_at_failure.hpp>
#include <tests/model/requests.hpp>
#include <tests/support/require.hpp>
#include <tests/support/sanitizers.hpp>
#include <tests/support/test_space.hpp>

#include <ashlar/arena/test_source.hpp>
#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/instance/heap.hpp>

namespace model {
namespace {

using namespace ashlar;

void audit_lines(const ashlar_stats& s) {
  audit_class(s.large);
  for (std::uint32_t c = 0; c < s.class_count; ++c) audit_class(s.classes[c]);
}

void expect_in_use(const ashlar_stats& s, const totals& all) {
  std::uint64_t blocks = s.large.blocks_in_use;
  for (std::uint32_t c = 0; c < s.class_count; ++c) blocks += s.classes[c].blocks_in_use;
  require(blocks == all.blocks && s.total.bytes_in_use == all.bytes, [&] {
    return "the heap has " + std::to_string(blocks) + " blocks, " +
           std::to_string(s.total.bytes_in_use) + " bytes in use, the model " +
           std::to_string(all.blocks) + ", " + std::to_string(all.bytes);
  });
}

enum class used_by { one_thread, all_threads };

template <used_by Users, class... Source>
class instance_face {
 public:
  static constexpr std::size_t slots = 2000;
  static constexpr std::size_t most_bytes = std::size_t{8} << 20;
  static constexpr bool reallocates = true;
  static constexpr bool may_refuse = true;
  static constexpr bool frees_all_at_end = true;

  explicit instance_face(draw d) : budget_(budget(d)) {
    const heap_options options{.budget_bytes = budget_, .name = "model"};
    if constexpr (has_source) {
      heap_.emplace(options, ashlar_test::test_source_ref{&source_});
    } else {
      heap_.emplace(options);
    }
  }
  ~instance_face() {
    heap_.reset();
    REQUIRE(source_.pieces.empty() && source_.wrong == 0);
  }

  static request choose(draw& d, const style& s) { return heap_request(d, s); }
  /// A budget that is far from used up refuses nothing, unless it is sealed.
  [[nodiscard]] bool refusal(const request& r, const totals& now) const {
    if (sealed_) return true;
    return budget_ != SIZE_MAX &&
           (budget_ < (std::size_t{16} << 20) || now.bytes + r.size + r.alignment > budget_ / 4);
  }

  block allocate(const request& r, draw& d) {
    block b;
    b.size = r.size;
    b.alignment = std::max<std::size_t>(r.alignment, 16);
    b.address = d.one_in(2) ? heap_->try_allocate(r.size, r.alignment)
                            : heap_->allocate(r.size, r.alignment);
    if (b.address != nullptr) b.usable = heap_->usable_size(b.address);
    return b;
  }
  block reallocate(const block& old, std::size_t size) {
    block b;
    b.size = size;
    b.address = heap_->try_reallocate(old.address, size);
    if (b.address != nullptr) b.usable = heap_->usable_size(b.address);
    return b;
  }
  void deallocate(const block& b, draw& d) {
    if (d.one_in(2)) return heap_->deallocate(b.address);
    heap_->deallocate(b.address, b.size, b.alignment);
  }
  void look(const block& b) const {
    require(heap_->usable_size(b.address) == b.usable && heap_->owns(b.address),
            [&b] { return "usable size or owner: " + describe(b); });
  }

  void rarely(draw d) {
    switch (d.below(32)) {
      case 0:
        heap_->trim();
        return;
      case 1:
        require(heap_->try_allocate(absurd_size(d)) == nullptr, [] { return "an absurd size"; });
        return;
      case 2:
        if (Users == used_by::one_thread) static_cast<void>(heap_->prefault(d.below(1 << 19), 1));
        return;
      case 3:
        if (Users == used_by::one_thread) {
          sealed_ = true;
          heap_->seal();
        }
        return;
      default:
        if (sealed_) heap_->unseal();
        if (Users == used_by::one_thread) sealed_ = false;
        return heap_->deallocate(nullptr);
    }
  }

  template <class Subject>
  void audit(const totals& all, const Subject&) const {
    heap_->audit();
    const ashlar_stats s = heap_->stats();
    audit_lines(s);
    expect_in_use(s, all);
    require(s.total.peak_committed_bytes <= budget_ && source_.bytes <= budget_,
            [] { return "the budget was exceeded"; });
  }

 private:
  static constexpr bool has_source = sizeof...(Source) != 0;

  static std::size_t budget(draw d) {
    if (Users == used_by::all_threads || d.one_in(4)) return SIZE_MAX;
    return std::size_t{1} << (19 + d.below(7));
  }

  ashlar_test::test_source source_;
  std::size_t budget_;
  std::optional<heap<Source...>> heap_;
  bool sealed_ = false;
};

/// Classes made for one program: few, with gaps, one whose blocks fill no slab well, none that is aligned to 64 up to
/// 4 KiB.
constexpr std::uint32_t few_sizes[] = {16, 48, 112, 1104, 4368, 20'016, 32'768, 36'864, 131'072};
constexpr detail::class_table few_table = detail::make_class_table(few_sizes);
using few_classes = detail::classes_in<few_table>;

/// The engine with three caches, as a runtime uses it.
template <class Classes>
class engine_face {
 public:
  static constexpr std::size_t slots = 1500;
  static constexpr std::size_t most_bytes = std::size_t{6} << 20;
  static constexpr bool reallocates = true;
  static constexpr bool may_refuse = true;
  static constexpr bool frees_all_at_end = true;

  explicit engine_face(draw d) {
    fuzz::stop_at_failure::begin();  // of test_space
    heap_.space().set_refused_moves_unmap(d.one_in(2));
    if (d.one_in(4)) heap_.space().set_reserve_max(d.below(std::size_t{1} << 28));
  }
  ~engine_face() {
    heap_.space().fail_nth(0);
    for (cache*& own : owners_)
      if (own != nullptr) heap_.detach(own);
    heap_.audit();
    heap_.release_all();
    REQUIRE(heap_.space().live_reservations() == 0);
  }

  static request choose(draw& d, const style& s) { return heap_request(d, s); }
  static bool refusal(const request&, const totals&) { return true; }

  block allocate(const request& r, draw& d) {
    block b;
    b.size = r.size;
    b.alignment = std::max<std::size_t>(r.alignment, 16);
    b.address = get(r.size, r.alignment, d.below(owners_.size()));
    if (b.address != nullptr) b.usable = heap_.usable_size(b.address, "usable_size");
    return b;
  }
  block reallocate(const block& old, std::size_t size) {
    block b;
    b.size = size;
    b.usable = heap_.resize_in_place(old.address, size, "realloc");
    if (b.usable != 0) {
      b.address = old.address;
      return b;
    }
    const std::size_t owner = size % owners_.size();
    if (size > old.usable) b.address = heap_.move_large(old.address, size);
    if (b.address == nullptr) {
      b.address = get(size, 1, owner);
      if (b.address == nullptr) return b;
      // Their lines are where the old block has them, and nowhere else need it be the same.
      __builtin_memcpy(b.address, old.address, std::min(old.size, size));
      give(old.address, owner);
    }
    b.usable = heap_.usable_size(b.address, "usable_size");
    return b;
  }
  void deallocate(const block& b, draw& d) { give(b.address, d.below(owners_.size())); }
  void look(const block& b) {
    require(heap_.owns(b.address) && heap_.usable_size(b.address, "usable_size") == b.usable,
            [&b] { return "usable size or owner: " + describe(b); });
  }

  void rarely(draw d) {
    test::test_space& space = heap_.space();
    switch (d.below(16)) {
      case 0:
      case 1:
      case 2:
        return space.fail_nth(1 + d.below(12));
      case 3:
        return space.fail_from(1 + d.below(12));
      case 4:
      case 5:
        for (std::size_t k = 0; k < test::space_call_count; ++k)
          space.fail_always(static_cast<test::space_call>(k), false);
        return space.fail_nth(0);
      case 6:
        return space.fail_always(static_cast<test::space_call>(d.below(test::space_call_count)),
                                 true);
      case 7:
      case 8:
        return space.set_clock(clock_ += d.below(4000));
      case 9:
        heap_.trim();
        return;
      case 10: {
        cache*& own = owners_[d.below(owners_.size())];
        if (own != nullptr) heap_.detach(own);
        own = nullptr;
        return;
      }
      case 11:
        return heap_.set_purge_policy({.delay_ms = static_cast<std::int64_t>(d.below(2000)) - 1,
                                       .keep_bytes = d.below(1 << 22)});
      case 12:
        // One for each class and more: ThreadSanitizer knows 64 held locks of a thread, and stops at the next.
        if (support::thread_sanitizer) return;
        heap_.lock_all();
        return heap_.unlock_all();
      case 13:
        return heap_.seal(true);
      default:
        return heap_.seal(false);
    }
  }

  template <class Subject>
  void audit(const totals& all, const Subject&) {
    static thread_local ashlar_stats s;
    for (cache* own : owners_)
      if (own != nullptr) heap_.collect(s, own);  // each publishes what it holds
    heap_.collect(s, nullptr);
    heap_.audit();
    audit_lines(s);
    expect_in_use(s, all);
  }

 private:
  struct config {
    using space = test::test_space;
    using mutex = std::mutex;
    using classes = Classes;
  };
  using heap = basic_heap<config>;
  using cache = heap::cache;

  cache* owner(std::size_t i) {
    if (owners_[i] == nullptr) owners_[i] = heap_.attach();
    return owners_[i];
  }
  void* get(std::size_t size, std::size_t alignment, std::size_t i) {
    const class_index c = heap::classes::class_for(size, alignment);
    cache* const own = owner(i);
    if (c == 0) {
      bool zeroed = false;
      void* const p = heap_.allocate_large(size, alignment, zeroed, own);
      if (p != nullptr && zeroed)
        require(support::find_nonzero(p, size) == size, [] { return "zeroed, but it is not"; });
      return p;
    }
    return own == nullptr ? heap_.allocate_uncached(c) : heap_.allocate_class(*own, c);
  }
  void give(void* p, std::size_t i) {
    cache* const own = owner(i);
    if (own == nullptr) return heap_.deallocate_uncached(p, "free");
    if (!heap::try_deallocate(own->tops, p)) heap_.deallocate_slow(*own, p, "free");
  }

  heap heap_;
  std::array<cache*, 3> owners_{};
  std::uint64_t clock_ = 0;
};

}  // namespace

std::vector<kind> heap_kinds() {
  return {kind_of<instance_face<used_by::all_threads>>("heap_shared", 10, true, true),
          kind_of<instance_face<used_by::one_thread>>("heap", 8),
          kind_of<instance_face<used_by::one_thread, ashlar_test::test_source_ref>>(
              "heap_on_source", 3),
          kind_of<engine_face<detail::standard>>("basic_heap", 3),
          kind_of<engine_face<few_classes>>("basic_heap_few_classes", 2)};
}

}  // namespace model
