// Heap instances with budgets, of the system or of a source, and with checks, which accuse nobody here; and the heap's engine on pages that are refused.
#include <tests/fuzz/stop_at_failure.hpp>
#include <tests/model/engine.hpp>

#include <ashlar/arena/test_source.hpp>
#include <ashlar/instance/heap.hpp>

namespace model {
namespace {

using namespace ashlar;

enum class used_by { one_thread, all_threads };

template <used_by Users, class... Policies>
class instance_face {
  using heap_type = heap<Policies...>;

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
    if (!heap_type::check_type::guards_bytes) expect_in_use(s, all);  // freed blocks wait there
    require(s.total.peak_committed_bytes <= budget_ && source_.bytes <= budget_,
            [] { return "the budget was exceeded"; });
  }

 private:
  static constexpr bool has_source =
      (std::is_same_v<Policies, ashlar_test::test_source_ref> || ...);

  static std::size_t budget(draw d) {
    // Records of blocks take more of it than any rule of the model says.
    if (Users == used_by::all_threads || heap_type::check_type::guards_bytes || d.one_in(4))
      return SIZE_MAX;
    return std::size_t{1} << (19 + d.below(7));
  }

  ashlar_test::test_source source_;
  std::size_t budget_;
  std::optional<heap_type> heap_;
  bool sealed_ = false;
};

/// Classes made for one program: few, with gaps, one whose blocks fill no slab well, none that is aligned to 64 up to
/// 4 KiB.
constexpr std::uint32_t few_sizes[] = {16, 48, 112, 1104, 4368, 20'016, 32'768, 36'864, 131'072};
constexpr detail::class_table few_table = detail::make_class_table(few_sizes);
using few_classes = detail::classes_in<few_table>;

}  // namespace

std::vector<kind> heap_kinds() {
  fuzz::stop_at_failure::begin();  // of test_space
  return {
      kind_of<instance_face<used_by::all_threads>>("heap_shared", 10, true, true),
      kind_of<instance_face<used_by::one_thread>>("heap", 8),
      kind_of<instance_face<used_by::one_thread, ashlar_test::test_source_ref>>("heap_on_source",
                                                                                3),
      kind_of<instance_face<used_by::all_threads, check::cheap>>("heap_cheap_check", 2, true, true),
      kind_of<instance_face<used_by::all_threads, check::full<16>>>("heap_full_check", 2, true,
                                                                    true),
      kind_of<engine_face<detail::standard>>("basic_heap", 3),
      kind_of<engine_face<few_classes>>("basic_heap_few_classes", 2)};
}

}  // namespace model
