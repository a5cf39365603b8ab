// Heap instances: blocks, threads that come and go, heaps that come and go, fork, misuse.
// Needs POSIX.
#include <tests/support/in_child.hpp>
#include <tests/support/resident.hpp>
#include <tests/support/test_headers.hpp>

#include <pthread.h>

#include <ashlar/instance/heap.hpp>
#include <ashlar/instance/test_heaps.hpp>
#include <ashlar/runtime/process_heap.hpp>

namespace {

using namespace ashlar;

static_assert(page_source<heap<>> && page_source<heap<exhaustion::stop>>);
static_assert(heap<>::nothrow_allocate && !heap<exhaustion::throw_bad_alloc>::nothrow_allocate);
static_assert(!std::is_copy_constructible_v<heap<>> && !std::is_move_constructible_v<heap<>>);

// Blocks of every size, their contents, absurd sizes: tests/model/heaps.cpp.

// ---- threads ------------------------------------------------------------------------------------

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

// ---- fork ---------------------------------------------------------------------------------------

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
    EXPECT_EQ(support::exit_status_of([&] {
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

// ---- misuse -------------------------------------------------------------------------------------

TEST(HeapDeathTest, ArgumentsAndStop) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  heap h;
  EXPECT_DEATH(static_cast<void>(h.try_allocate(1, 0)), "outside what the call allows");
  EXPECT_DEATH(static_cast<void>(h.try_allocate(1, 3)), "outside what the call allows");
  EXPECT_DEATH(static_cast<void>(h.try_allocate(1, 24)), "outside what the call allows");
  heap<exhaustion::stop> s({.budget_bytes = mib, .name = "narrow"});
  EXPECT_DEATH(static_cast<void>(s.allocate(2 * mib)), "narrow");
}

// ---- the whole ----------------------------------------------------------------------------------

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

TEST(Heap, ASmallOneIsCheap) {
  if (support::sanitized || support::emulated) GTEST_SKIP() << "what runs it has memory that grows";
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
  EXPECT_LE((support::address_space_bytes() - addresses) / count,
            (page > 4096 ? 5 : 3) * mib + mib / 16);
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
