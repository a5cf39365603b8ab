// A whole heap, from its first call on, with few preemptions: its start, its locks' order, and its counters, in the
// orders that a run on real threads meets once in a million. Plain data is not watched here, and between two atomics
// nobody is interrupted: a lock that is missing around plain data only is ThreadSanitizer's to see.
#include <tests/interleave/model_std.hpp>
// first of all
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <tests/interleave/faults.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/os/system_space.hpp>

namespace {

/// The system's, but small: each execution begins a heap of its own. Its time stands still.
class small_space : public ashlar::os::system_space {
 public:
  [[nodiscard]] static std::size_t limit() noexcept { return std::size_t{1} << 28; }
  [[nodiscard]] static std::size_t physical() noexcept { return std::size_t{1} << 28; }
  [[nodiscard]] static std::size_t processors() noexcept { return 2; }
  [[nodiscard]] static std::uint64_t now_ms() noexcept { return 0; }
  [[nodiscard]] static std::uint64_t secret() noexcept {
    ++secrets;
    return system_space::secret();
  }
  static inline int secrets = 0;  // that were drawn
};
struct config {
  using space = small_space;
  using mutex = interleave::mutex;
};
using heap = ashlar::basic_heap<config>;
using cache = heap::cache;

constexpr std::size_t small_size = 64;
constexpr std::size_t large_size = 200 * 1024;

/// What one thread does, with its own cache.
class tenant {
 public:
  tenant(heap& h, std::set<void*>& held) : heap_(h), own_(h.attach()), held_(held) {}

  void* take(std::size_t size) {
    const ashlar::class_index c = heap::classes::class_for(size, 1);
    void* const p = c != 0 ? heap_.allocate_class(*own_, c) : heap_.allocate_large(size, 1).address;
    interleave::require(p != nullptr, "no memory");
    interleave::require(held_.insert(p).second, "a block has two owners");
    return p;
  }
  void give(void* p) {
    held_.erase(p);
    if (!heap::try_deallocate(own_->tops, p)) heap_.deallocate_slow(*own_, p, "free");
  }
  void end() { heap_.detach(own_); }

 private:
  heap& heap_;
  cache* own_;
  std::set<void*>& held_;
};

struct world {
  heap h;
  std::set<void*> held;  // by all threads together
  void* first = nullptr;
  std::optional<tenant> early;  // got a cache before the threads began, for one of them to use
};

using body = std::function<void(world&)>;

/// One is what there is time for before every merge. ASHLAR_PREEMPTIONS=2 takes some minutes.
unsigned preemptions() {
  const char* const text = std::getenv("ASHLAR_PREEMPTIONS");
  return text == nullptr ? 1 : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

/// Two threads that do this and that, on a heap that does not exist yet, or that has one block in use, whose owner is
/// still there or not.
enum class before : std::uint8_t { nothing, a_block, an_owner };
void expect_sound(const body& one, const body& other, before there) {
  std::optional<world> w;
  const auto begin = [&] {
    interleave::faults = 0;
    small_space::secrets = 0;
    w.emplace();
    if (there == before::nothing) return;
    w->early.emplace(w->h, w->held);
    w->first = w->early->take(small_size);
    if (there == before::a_block) w->early->end();
  };
  const auto end = [&] {
    interleave::require(interleave::faults == 0, "a fault in a program without one");
    interleave::require(small_space::secrets == 1, "the heap was not started once");
    w->h.audit();
    static ashlar_stats s;
    w->h.collect(s, nullptr);
    std::uint64_t in_use = s.large.blocks_in_use;
    for (std::uint32_t c = 0; c < s.class_count; ++c) in_use += s.classes[c].blocks_in_use;
    interleave::require(in_use == w->held.size(), "the figures are not what the threads hold");
    interleave::require(s.total.threads == 0, "a cache without an owner counts as one with");
    interleave::require(s.total.peak_bytes_in_use >= s.total.bytes_in_use,
                        "a peak below the present");
    w->h.release_all();
  };
  const auto seen =
      interleave::explore(2, {begin, [&](unsigned t) { (t == 0 ? one : other)(*w); }, end},
                          {.preemptions = preemptions()});
  EXPECT_EQ(seen.failure, "");
  std::printf("%llu executions\n", static_cast<unsigned long long>(seen.executions));
}

void two_blocks(world& w) {
  tenant t(w.h, w.held);
  t.take(small_size);
  t.give(t.take(small_size));
  t.end();
}
void large_block(world& w) {
  tenant t(w.h, w.held);
  t.give(t.take(large_size));
  t.end();
}

TEST(Heap, TwoThreadsStartItTogether) { expect_sound(two_blocks, two_blocks, before::nothing); }
TEST(Heap, ABlockIsFreedByAnotherThreadWhileOneIsTaken) {
  expect_sound(
      two_blocks,
      [](world& w) {
        tenant t(w.h, w.held);
        t.give(w.first);
        t.end();
      },
      before::a_block);
}
// The thread that comes second tells the first to use keys, in the middle of whatever that one does.
TEST(Heap, TheSecondCacheComesWhileTheFirstFreesByMarks) {
  expect_sound(
      [](world& w) {
        tenant t(w.h, w.held);
        t.give(w.first);
        t.take(small_size);
        t.end();
      },
      [](world& w) {
        tenant& t = *w.early;
        void* const p = t.take(small_size);
        t.give(p);
        t.take(small_size);
        t.end();
      },
      before::an_owner);
}
TEST(Heap, LargeBlocksAndTrim) {
  expect_sound(large_block, [](world& w) { w.h.trim(); }, before::a_block);
  expect_sound(large_block, two_blocks, before::a_block);
}
TEST(Heap, AForkTakesAllLocksWhileOthersWork) {
  const auto fork = [](world& w) {
    w.h.lock_all();
    w.h.unlock_all();
  };
  expect_sound(two_blocks, fork, before::a_block);
  expect_sound(large_block, fork, before::a_block);
}

}  // namespace
