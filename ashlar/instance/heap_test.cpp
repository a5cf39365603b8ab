// Heap instances: budgets, sources, threads that come and go, heaps that come and go, fork, misuse.
// Suites: threads
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <tests/support/expects.hpp>
#include <tests/support/extent.hpp>
#include <tests/support/live_blocks.hpp>
#include <tests/support/resident.hpp>
#include <tests/support/sanitizers.hpp>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/instance/heap.hpp>
#include <ashlar/instance/heap_space.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/runtime/process_heap.hpp>

namespace {

using namespace ashlar;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t page = detail::page_size;

static_assert(page_source<heap<>> && page_source<heap<exhaustion::stop>>);
static_assert(heap<>::nothrow_allocate && !heap<exhaustion::throw_bad_alloc>::nothrow_allocate);
static_assert(!std::is_copy_constructible_v<heap<>> && !std::is_move_constructible_v<heap<>>);

/// What a source has handed out, and whether it got all of it back as it was.
struct ledger {
  std::mutex mutex;
  std::map<void*, std::pair<std::size_t, std::size_t>> pieces;
  std::size_t bytes = 0, peak = 0, calls = 0, wrong = 0, limit = SIZE_MAX;
};

/// Pieces from the system, all of them noted, none of them zero.
class noting_source {
 public:
  explicit noting_source(ledger& book) : book_(&book) {}
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    const std::lock_guard guard(book_->mutex);
    ++book_->calls;
    if (bytes > book_->limit - std::min(book_->bytes, book_->limit)) return nullptr;
    void* const p = os::page_source::allocate(bytes, alignment);
    if (p == nullptr) return nullptr;
    std::memset(p, 0xa5, bytes);
    book_->pieces[p] = {bytes, alignment};
    book_->bytes += bytes;
    book_->peak = std::max(book_->peak, book_->bytes);
    return p;
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const std::lock_guard guard(book_->mutex);
    const auto found = book_->pieces.find(p);
    if (found == book_->pieces.end() || found->second != std::pair{bytes, alignment}) {
      ++book_->wrong;
      return;
    }
    book_->pieces.erase(found);
    book_->bytes -= bytes;
    os::page_source::deallocate(p, bytes, alignment);
  }

 private:
  ledger* book_;
};

/// A source that is another heap.
struct heap_source {
  heap<>* from;
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return from->try_allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    from->deallocate(p, bytes, alignment);
  }
};

template <class Heap>
std::vector<void*> fill(Heap& h, std::size_t size) {
  std::vector<void*> blocks;
  while (void* p = h.try_allocate(size)) blocks.push_back(p);
  return blocks;
}
template <class Heap>
void release(Heap& h, std::vector<void*>& blocks) {
  for (void* p : blocks) h.deallocate(p);
  blocks.clear();
}

// ---- blocks ---------------------------------------------------------------------------------------

TEST(Heap, BlocksAreAlignedApartAndTheCallers) {
  heap h({.name = "blocks"});
  EXPECT_STREQ(h.name(), "blocks");
  support::live_blocks<support::expects, SIZE_MAX> held;
  for (std::size_t alignment = 1; alignment <= 4 * mib; alignment *= 2) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100},
                                   std::size_t{5000}, std::size_t{32768}, std::size_t{100'000}}) {
      void* const p = h.try_allocate(size, alignment);
      ASSERT_NE(p, nullptr);
      EXPECT_GE(h.usable_size(p), 1u);
      EXPECT_TRUE(h.owns(p));
      held.add(p, size, h.usable_size(p), std::max<std::size_t>(alignment, 16));
    }
  }
  while (!held.empty()) {
    const support::live_block b = held.take_last();
    h.deallocate(b.address, b.size, 16);
  }
  h.deallocate(nullptr);
  h.deallocate(nullptr, 0);
  EXPECT_EQ(h.usable_size(nullptr), 0u);
  EXPECT_FALSE(h.owns(nullptr));
  EXPECT_FALSE(h.owns(&h));
  EXPECT_EQ(h.stats().total.bytes_in_use, 0u);
  h.audit();
}

TEST(Heap, ReallocateKeepsContents) {
  heap h;
  auto* p = static_cast<unsigned char*>(h.try_reallocate(nullptr, 1));
  ASSERT_NE(p, nullptr);
  p[0] = 1;
  std::size_t size = 1;
  for (const std::size_t next : {50u, 5000u, 40'000u, 900'000u, 3'000'000u, 2'900'000u, 700u, 3u}) {
    auto* q = static_cast<unsigned char*>(h.try_reallocate(p, next));
    ASSERT_NE(q, nullptr);
    for (std::size_t i = 0; i < std::min(size, next); ++i)
      ASSERT_EQ(q[i], static_cast<unsigned char>(i * 7 + 1)) << i;
    for (std::size_t i = 0; i < next; ++i) q[i] = static_cast<unsigned char>(i * 7 + 1);
    p = q;
    size = next;
  }
  h.deallocate(p);
  EXPECT_EQ(h.stats().total.bytes_in_use, 0u);
}

TEST(Heap, ImpossibleSizesAreNull) {
  heap h;
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2 + 1, SIZE_MAX / 2})
    for (const std::size_t alignment : {std::size_t{16}, std::size_t{4096}, SIZE_MAX / 2 + 1})
      EXPECT_EQ(h.try_allocate(size, alignment), nullptr);
  EXPECT_EQ(h.try_allocate(1, SIZE_MAX / 2 + 1), nullptr);
  void* p = h.try_allocate(10);
  EXPECT_EQ(h.try_reallocate(p, SIZE_MAX), nullptr);
  h.deallocate(p);
}

// ---- budgets --------------------------------------------------------------------------------------

TEST(HeapBudget, IsNeverExceededAndWhollyUsable) {
  for (const std::size_t budget : {64 * page, 256 * page, 1280 * page + 12'345,
                                   support::takes_samples ? 16 * mib : 64 * mib}) {
    heap h({.budget_bytes = budget});
    // Every round uses another class or large blocks, after all of the round before has been freed.
    for (const std::size_t size : {std::size_t{64}, std::size_t{16}, std::size_t{3000},
                                   std::size_t{32768}, std::size_t{100'000}, std::size_t{512}}) {
      std::vector<void*> blocks = fill(h, size);
      const ashlar_stats s = h.stats();
      EXPECT_LE(s.total.committed_bytes, budget);
      EXPECT_LE(s.total.peak_committed_bytes, budget);
      // What may be left over: less than one slab or block, and the rests of slabs.
      ASSERT_FALSE(blocks.empty());
      EXPECT_GE(blocks.size() * h.usable_size(blocks[0]) + 33 * page + budget / 64, budget)
          << budget << ' ' << size;
      for (void* p : blocks) std::memset(p, 0x5a, size);
      release(h, blocks);
      EXPECT_EQ(h.stats().total.bytes_in_use, 0u);
    }
    h.audit();
    // Trimming leaves nothing committed.
    h.trim();
    EXPECT_EQ(h.stats().total.committed_bytes, 0u);
  }
}

TEST(HeapBudget, ShrinkingCannotFail) {
  heap h({.budget_bytes = mib});
  auto* const block = static_cast<unsigned char*>(h.try_allocate(20'000));
  ASSERT_NE(block, nullptr);
  std::memset(block, 0x5a, 20'000);
  std::vector<void*> rest = fill(h, 100);  // where it would have to move
  ASSERT_EQ(h.try_allocate(100), nullptr);
  EXPECT_EQ(h.try_reallocate(block, 100), block);
  EXPECT_TRUE(std::all_of(block, block + 100, [](unsigned char c) { return c == 0x5a; }));
  release(h, rest);
  EXPECT_NE(h.try_reallocate(block, 100), block) << "now there is a better fit";
  h.audit();
}

TEST(HeapBudget, TooSmallForAnythingIsNullAtOnce) {
  for (const std::size_t budget : {std::size_t{0}, std::size_t{1}, std::size_t{4096}}) {
    heap h({.budget_bytes = budget});
    EXPECT_EQ(h.try_allocate(1), nullptr);
    EXPECT_EQ(h.try_allocate(4096, 4096), nullptr);
    EXPECT_EQ(h.try_allocate(100'000), nullptr);
    EXPECT_EQ(h.stats().total.committed_bytes, 0u);
  }
  heap h({.budget_bytes = mib});
  EXPECT_EQ(h.try_allocate(mib + 1), nullptr);
  void* p = h.try_allocate(mib);
  EXPECT_NE(p, nullptr);
  EXPECT_EQ(h.try_allocate(1), nullptr);
  EXPECT_EQ(h.try_reallocate(p, 2 * mib), nullptr);
  EXPECT_EQ(h.usable_size(p), mib);
  h.deallocate(p);
}

TEST(HeapBudget, WhatAnotherThreadFreedCanBeUsedAgain) {
  constexpr std::size_t budget = 4 * mib;
  heap h({.budget_bytes = budget});
  std::vector<void*> blocks = fill(h, 48);
  std::thread([&] { release(h, blocks); }).join();
  blocks = fill(h, 640);
  EXPECT_GE(blocks.size() * 640, budget - budget / 16);
  // A thread that lives on keeps its cache's share, which it gives back when it misses next.
  std::atomic<int> phase{0};
  std::thread other([&] {
    release(h, blocks);
    phase = 1;
    while (phase != 2) std::this_thread::yield();
    h.deallocate(h.try_allocate(32'000));
    phase = 3;
    while (phase != 4) std::this_thread::yield();
  });
  while (phase != 1) std::this_thread::yield();
  std::vector<void*> again = fill(h, 2048);
  EXPECT_GE(again.size() * 2048, budget - budget / 8 - 128 * 1024);
  h.deallocate(again.back());
  again.pop_back();
  h.trim();
  phase = 2;
  while (phase != 3) std::this_thread::yield();
  const std::vector<void*> more = fill(h, 2048);
  EXPECT_GE((again.size() + more.size()) * 2048, budget - 128 * 1024);
  phase = 4;
  other.join();
}

// The other thread's next miss must succeed: one that fails trims, which gives back its cache's share whoever asked.
TEST(HeapBudget, AThreadThatMissesGivesItsShareToOneThatFoundNothing) {
  heap h({.budget_bytes = 4 * mib});
  void* const room = h.try_allocate(32'000);  // for that miss, in a slab of another class
  std::vector<void*> blocks = fill(h, 640);
  const std::size_t all = blocks.size();
  std::atomic<int> phase{0};
  void* missed = nullptr;
  std::thread other([&] {
    release(h, blocks);
    phase = 1;
    while (phase != 2) std::this_thread::yield();
    missed = h.try_allocate(32'000);
    phase = 3;
    while (phase != 4) std::this_thread::yield();
  });
  while (phase != 1) std::this_thread::yield();
  const std::vector<void*> again = fill(h, 640);
  EXPECT_LT(again.size(), all) << "the other thread's cache has a share";
  h.deallocate(room);
  h.trim();
  phase = 2;
  while (phase != 3) std::this_thread::yield();
  EXPECT_NE(missed, nullptr);
  EXPECT_GE(again.size() + fill(h, 640).size(), all);
  phase = 4;
  other.join();
}

TEST(HeapBudget, PoliciesSayWhatHappensThen) {
  {
    heap<exhaustion::throw_bad_alloc> h({.budget_bytes = mib});
    fill(h, 100);
    EXPECT_THROW(static_cast<void>(h.allocate(100)), std::bad_alloc);
    EXPECT_EQ(h.try_allocate(100), nullptr);
  }
  {
    heap h({.budget_bytes = mib});
    std::vector<void*> blocks = fill(h, 100);
    EXPECT_EQ(h.allocate(100), nullptr);
    h.deallocate(blocks.back());
    EXPECT_NE(h.allocate(100), nullptr);
  }
  {
    using policy = exhaustion::handler_and_retry<exhaustion::null, exhaustion::own_handler>;
    static heap<policy>* running = nullptr;
    static std::vector<void*> blocks;
    policy p;
    p.source.handler = [] { release(*running, blocks); };
    heap<policy> h({.budget_bytes = mib}, {}, p);
    running = &h;
    blocks = fill(h, 1000);
    ASSERT_FALSE(blocks.empty()) << "else the handler has nothing to give, and is called for ever";
    EXPECT_NE(h.allocate(1000), nullptr);
    EXPECT_TRUE(blocks.empty());
  }
}

// ---- sources --------------------------------------------------------------------------------------

TEST(HeapSource, EverythingIsReturnedAndTheBudgetKept) {
  constexpr std::size_t much = (support::takes_samples ? 6 : 40) * mib;
  for (const std::size_t budget : {48 * page, 768 * page, much, SIZE_MAX}) {
    ledger book;
    if (budget == SIZE_MAX) book.limit = much + much / 4;
    const std::size_t most = std::min(budget, book.limit);
    {
      heap h({.budget_bytes = budget}, noting_source(book));
      EXPECT_EQ(book.calls, 0u);
      for (const std::size_t size : {40u, 7000u, 90'000u, 256u}) {
        std::vector<void*> blocks = fill(h, size);
        // The last piece, and a block's share of each piece, may be too short for one more.
        EXPECT_GE(blocks.size() * size + 32 * page, most / 10 * 8) << budget << ' ' << size;
        for (void* p : blocks) {
          EXPECT_TRUE(h.owns(p));
          std::memset(p, 0x11, size);
        }
        const ashlar_stats s = h.stats();
        EXPECT_EQ(s.total.committed_bytes, book.bytes);
        EXPECT_EQ(s.total.peak_committed_bytes, book.peak);
        release(h, blocks);
        const std::size_t before = book.bytes;
        const std::size_t given_back = h.trim();
        EXPECT_EQ(given_back, before - book.bytes);
        h.audit();
      }
      EXPECT_LE(book.peak, most);
      static_cast<void>(fill(h, 333));  // these stay
    }
    EXPECT_EQ(book.bytes, 0u);
    EXPECT_EQ(book.wrong, 0u);
  }
}

// A heap has a bounded number of pieces at a time, and any number one after the other.
TEST(HeapSource, PiecesMayComeAndGoForEver) {
  ledger book;
  heap h({.budget_bytes = 16 * mib}, noting_source(book));
  void* const kept = h.try_allocate(100);  // in the first piece, so that each round needs another
  std::size_t pieces = 0;
  for (std::uint32_t round = 0; round < 3 * runtime::heap_space::ranges_max; ++round) {
    const std::size_t before = book.pieces.size();
    void* const block = h.try_allocate(5 * mib);
    ASSERT_NE(block, nullptr) << "round " << round;
    pieces += book.pieces.size() - before;
    h.deallocate(block);
    h.trim();
    ASSERT_EQ(book.pieces.size(), before) << "an empty piece goes back";
  }
  EXPECT_GT(pieces, runtime::heap_space::ranges_max) << "or nothing was tried";
  h.deallocate(kept);
}

TEST(HeapSource, MayBeAnotherHeap) {
  heap outer({.budget_bytes = 32 * mib});
  {
    heap inner({.budget_bytes = 8 * mib}, heap_source{&outer});
    std::vector<void*> blocks = fill(inner, 128);
    EXPECT_GE(blocks.size() * 128, 6 * mib);
    for (void* p : blocks) EXPECT_TRUE(outer.owns(p));
    std::thread([&] { release(inner, blocks); }).join();
    EXPECT_GE(outer.stats().total.bytes_in_use, 256u * 1024);
    inner.trim();
  }
  EXPECT_EQ(outer.stats().total.bytes_in_use, 0u);
}

TEST(HeapSource, ChainsOfHeapsThatShareASlotWork) {
  // Ids that are equal modulo the slots of a thread's table: the worst case for one thread's caches.
  heap outer;
  std::vector<std::unique_ptr<heap<>>> between;
  for (std::size_t i = 1; i < runtime::heap_slots; ++i)
    between.push_back(std::make_unique<heap<>>());
  heap inner({}, heap_source{&outer});
  std::array<std::vector<void*>, 2> blocks;
  for (int round = 0; round < 300; ++round) {
    blocks[0].push_back(inner.try_allocate(1 + static_cast<std::size_t>(round) * 97));
    blocks[1].push_back(outer.try_allocate(1 + static_cast<std::size_t>(round) * 89));
    ASSERT_NE(blocks[0].back(), nullptr);
    ASSERT_NE(blocks[1].back(), nullptr);
  }
  std::thread([&] {
    release(inner, blocks[0]);
    release(outer, blocks[1]);
    inner.trim();
  }).join();
  EXPECT_EQ(inner.stats().total.bytes_in_use, 0u);
  // No cache was lost when one heap's miss ran inside the other's.
  EXPECT_LE(inner.stats().total.threads, 1u);
  EXPECT_LE(outer.stats().total.threads, 1u);
  inner.audit();
  outer.audit();
}

TEST(HeapSource, ThatHasNothingIsExhaustion) {
  ledger book;
  book.limit = 0;
  heap h({}, noting_source(book));
  EXPECT_EQ(h.try_allocate(1), nullptr);
  EXPECT_EQ(h.stats().total.committed_bytes, 0u);
  book.limit = mib;
  void* p = h.try_allocate(1);
  EXPECT_NE(p, nullptr);
  h.deallocate(p);
}

// ---- threads --------------------------------------------------------------------------------------

TEST(HeapThreads, ThatEndGiveTheirCacheBack) {
  heap h({.budget_bytes = mib});
  for (int i = 0; i < 50; ++i) {
    std::thread([&] {
      std::vector<void*> blocks = fill(h, 200);
      EXPECT_GE(blocks.size() * 200, mib - 128 * 1024);
      release(h, blocks);
    }).join();
  }
  EXPECT_EQ(h.stats().total.threads, 0u);
  EXPECT_EQ(h.stats().total.bytes_in_use, 0u);
}

TEST(HeapThreads, MayOutliveTheHeap) {
  // Both orders, over and over, with the slot used again by a heap that lives.
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  auto h = std::make_unique<heap<>>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      h->deallocate(h->try_allocate(100));
      ++ready;
      while (!go) std::this_thread::yield();
      heap later;
      later.deallocate(later.try_allocate(100));
    });
  }
  while (ready != 4) std::this_thread::yield();
  h.reset();
  go = true;
  for (std::thread& t : threads) t.join();
}

TEST(HeapThreads, EndWhileHeapsEnd) {
  // The thread's end gives back its cache, of many classes so that it takes a while, when the heap
  // ends: before, meanwhile or after, as the delay of the round has it.
  for (int round = 0; round < (support::sanitized ? 200 : 500); ++round) {
    auto h = std::make_unique<heap<>>();
    std::atomic<bool> used{false};
    std::thread t([&] {
      for (std::size_t size = 16; size <= 32'768; size += 16 + size / 10) {
        void* const p = h->try_allocate(size);
        h->deallocate(p);
      }
      used = true;
    });
    while (!used) std::this_thread::yield();
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::microseconds(round % 100 * 4);
    while (std::chrono::steady_clock::now() < until) {
    }
    h.reset();
    t.join();
  }
}

TEST(HeapThreads, HundredHeapsComeAndGoWhileThreadsDo) {
  constexpr std::size_t heap_count = 100;
  std::vector<std::unique_ptr<heap<>>> heaps(heap_count);
  std::array<std::mutex, heap_count> locks;
  std::atomic<std::size_t> damaged{0};
  const auto worker = [&](std::uint64_t seed) {
    std::uint64_t state = seed;
    const auto random = [&state](std::size_t bound) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return static_cast<std::size_t>(state >> 33) % bound;
    };
    for (int i = 0; i < (support::sanitized ? 300 : 2000); ++i) {
      const std::size_t n = random(heap_count);
      const std::lock_guard guard(locks[n]);
      if (heaps[n] == nullptr) {
        heaps[n] = std::make_unique<heap<>>(heap_options{.budget_bytes = mib});
      } else if (random(20) == 0) {
        heaps[n].reset();
        continue;
      }
      std::array<unsigned char*, 30> blocks{};
      for (auto& b : blocks) {
        b = static_cast<unsigned char*>(heaps[n]->try_allocate(random(600) + 1));
        if (b != nullptr) *b = static_cast<unsigned char>(seed);
      }
      for (auto* b : blocks) {
        if (b != nullptr && *b != static_cast<unsigned char>(seed)) ++damaged;
        if (random(10) != 0) heaps[n]->deallocate(b);
      }
    }
  };
  for (std::uint64_t generation = 0; generation < 4; ++generation) {
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) threads.emplace_back(worker, generation * 4 + t + 1);
    for (std::thread& t : threads) t.join();
  }
  EXPECT_EQ(damaged, 0u);
  for (auto& h : heaps)
    if (h != nullptr) h->audit();
}

heap<>* of_exit_handlers = nullptr;
pthread_key_t late_key;

TEST(HeapThreads, ExitHandlersAndThreadLocalsMayUseIt) {
  heap h;
  of_exit_handlers = &h;
  // Its destructor runs in several rounds, so after the heap's own thread-exit handler, too.
  ASSERT_EQ(::pthread_key_create(&late_key,
                                 [](void* round) {
                                   void* p = of_exit_handlers->try_allocate(80);
                                   EXPECT_NE(p, nullptr);
                                   of_exit_handlers->deallocate(p);
                                   if (round != static_cast<void*>(&late_key)) return;
                                   ::pthread_setspecific(late_key, &late_key + 1);
                                 }),
            0);
  struct user {
    void* block = of_exit_handlers->try_allocate(500);
    ~user() { of_exit_handlers->deallocate(block); }
  };
  std::thread([&] {
    thread_local user u;
    EXPECT_NE(u.block, nullptr);
    ::pthread_setspecific(late_key, &late_key);
  }).join();
  ::pthread_key_delete(late_key);
  EXPECT_EQ(h.stats().total.bytes_in_use, 0u);
  EXPECT_EQ(h.stats().total.threads, 0u);
}

// ---- fork -----------------------------------------------------------------------------------------

/// Returns: what the child's `body` returned, -1 when it did not end by itself.
template <class Body>
int in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(HeapFork, TheChildKeepsUsableHeaps) {
  if (support::thread_sanitizer) GTEST_SKIP() << "its runtime does not follow forks of threads";
  heap outer;
  heap inner({.budget_bytes = 8 * mib}, heap_source{&outer});
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        heap mine({.budget_bytes = mib});
        for (std::size_t size : {16u, 3000u, 70'000u}) {
          mine.deallocate(mine.try_allocate(size));
          inner.deallocate(inner.try_allocate(size));
        }
      }
    });
  }
  void* kept = inner.try_allocate(1000);
  std::memset(kept, 7, 1000);
  for (int i = 0; i < support::times(50); ++i) {
    EXPECT_EQ(in_child([&] {
                if (static_cast<unsigned char*>(kept)[999] != 7) return 1;
                inner.deallocate(kept);
                std::vector<void*> blocks;
                for (std::size_t n = 0; n < 1000; ++n) blocks.push_back(inner.try_allocate(n));
                if (std::count(blocks.begin(), blocks.end(), nullptr) != 0) return 2;
                release(inner, blocks);
                heap fresh({.budget_bytes = mib});
                if (fresh.try_allocate(10) == nullptr) return 3;
                std::thread([&] { inner.deallocate(inner.try_allocate(64)); }).join();
                return 0;
              }),
              0);
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  inner.deallocate(kept);
}

// ---- misuse ---------------------------------------------------------------------------------------

TEST(HeapDeathTest, WhatIsNotItsOwnIsAFault) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  heap a({.name = "tenant a"});
  heap b;
  void* of_b = b.try_allocate(100);
  void* large_of_b = b.try_allocate(200'000);
  void* of_process = runtime::allocate(100);
  int local = 0;
  static_cast<void>(a.try_allocate(1));
  for (void* p : {of_b, large_of_b, of_process, static_cast<void*>(&local)}) {
    EXPECT_DEATH(a.deallocate(p), "deallocate.*not allocated here");
    EXPECT_DEATH(a.deallocate(p, 100), "tenant a");
    EXPECT_DEATH(static_cast<void>(a.usable_size(p)), "usable_size.*not allocated here");
    EXPECT_DEATH(static_cast<void>(a.try_reallocate(p, 200)), "try_reallocate.*not allocated here");
  }
  EXPECT_DEATH(runtime::deallocate(of_b, "free"), "not allocated here");
  runtime::deallocate(of_process, "free");
}

TEST(HeapDeathTest, WhatIsFreeAlreadyIsAFault) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  heap h({.name = "orders"});
  EXPECT_DEATH(
      {
        void* p = h.try_allocate(200'000);
        h.deallocate(p);
        h.deallocate(p);
      },
      "deallocate.*pool 'orders'");
  EXPECT_DEATH(
      {
        void* p = h.try_allocate(100);
        h.deallocate(p);
        h.deallocate(p);
        h.trim();
      },
      "double free.*pool 'orders'");
  EXPECT_DEATH(
      {
        auto* p = static_cast<char*>(h.try_allocate(100));
        h.deallocate(p + 16);
        h.trim();
      },
      "inside a block.*pool 'orders'");
}

TEST(HeapDeathTest, ArgumentsAndStop) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  heap h;
  EXPECT_DEATH(static_cast<void>(h.try_allocate(1, 0)), "outside what the call allows");
  EXPECT_DEATH(static_cast<void>(h.try_allocate(1, 3)), "outside what the call allows");
  EXPECT_DEATH(static_cast<void>(h.try_allocate(1, 24)), "outside what the call allows");
  heap<exhaustion::stop> s({.budget_bytes = mib, .name = "narrow"});
  EXPECT_DEATH(static_cast<void>(s.allocate(2 * mib)), "narrow");
}

// ---- the whole ------------------------------------------------------------------------------------

TEST(HeapStatistics, AreAHeapsOwn) {
  heap a, b;
  const std::uint64_t process_before = [] {
    ashlar_stats s;
    runtime::collect(s);
    return s.total.bytes_in_use;
  }();
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(a.try_allocate(100));
  blocks.push_back(a.try_allocate(500'000));
  const ashlar_stats of_a = a.stats(), of_b = b.stats();
  EXPECT_EQ(of_a.total.bytes_in_use, 1000u * 112 + align_up(std::size_t{500'000}, page));
  EXPECT_EQ(of_a.large.blocks_in_use, 1u);
  EXPECT_EQ(of_a.classes[detail::standard_classes.of_size(100) - 1].blocks_in_use, 1000u);
  EXPECT_GE(of_a.total.peak_bytes_in_use, of_a.total.bytes_in_use);
  EXPECT_EQ(of_b.total.bytes_in_use, 0u);
  EXPECT_EQ(of_b.total.allocations, 0u);
  ashlar_stats process;
  runtime::collect(process);
  EXPECT_LT(process.total.bytes_in_use - process_before, 100'000u);
  release(a, blocks);
  EXPECT_EQ(a.stats().total.bytes_in_use, 0u);
  EXPECT_EQ(a.stats().total.threads, 1u);
}

TEST(Heap, AThousandLeaveNothingBehind) {
  if (support::sanitized) GTEST_SKIP() << "the sanitizer's own memory grows";
  const auto round = [] {
    heap h;
    for (std::size_t size = 16; size <= 40'000; size += size / 4)
      std::memset(h.try_allocate(size), 1, size);
    std::thread([&h] { static_cast<void>(h.try_allocate(10)); }).join();
  };
  for (int i = 0; i < 10; ++i) round();
  const std::size_t addresses = support::address_space_bytes();
  const std::size_t resident = support::resident_bytes();
  for (int i = 0; i < 1000; ++i) round();
  EXPECT_LE(support::address_space_bytes(), addresses + 64 * 1024);
  EXPECT_LE(support::resident_bytes(), resident + 256 * 1024);
}

TEST(Heap, ASmallOneIsCheap) {
  if (support::sanitized) GTEST_SKIP() << "the sanitizer's own memory grows";
  {
    heap warm;  // this thread's table
    static_cast<void>(warm.try_allocate(1));
  }
  constexpr std::size_t count = 32;
  const std::size_t addresses = support::address_space_bytes();
  const std::size_t resident = support::resident_bytes();
  std::vector<std::unique_ptr<heap<>>> heaps;
  for (std::size_t i = 0; i < count; ++i) {
    heaps.push_back(std::make_unique<heap<>>(heap_options{.budget_bytes = mib}));
    *static_cast<char*>(heaps.back()->try_allocate(100)) = 1;
  }
  // The tables of marks begin at multiples of the heap's page.
  EXPECT_LE((support::address_space_bytes() - addresses) / count, (page > 4096 ? 4 : 3) * mib);
  EXPECT_LE((support::resident_bytes() - resident) / count, 128u * 1024);
}

// A heap that is never destroyed serves static constructors, and whoever runs after main.
heap<>& early_heap() {
  alignas(heap<>) static unsigned char place[sizeof(heap<>)];
  static heap<>* const h = ::new (place) heap<>({.name = "early"});
  return *h;
}
void* const before_main = early_heap().try_allocate(77);

TEST(Heap, WorksBeforeMain) {
  ASSERT_NE(before_main, nullptr);
  EXPECT_TRUE(early_heap().owns(before_main));
  early_heap().deallocate(before_main);
}

}  // namespace
