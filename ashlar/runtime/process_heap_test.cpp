// The process heap as a program meets it: many threads, threads that end, fork.
// Needs Linux.
#include <latch>
#include <tests/support/in_child.hpp>
#include <tests/support/test_headers.hpp>

#include <pthread.h>

#include <ashlar/runtime/process_heap.hpp>

namespace {

using namespace ashlar;

ashlar_stats stats() {
  ashlar_stats s;
  runtime::collect(s);
  return s;
}

/// Returns: whether blocks of many sizes are served, resized with what is in them, and freed.
bool serves() {
  bool good = true;
  std::vector<unsigned char*> blocks;
  for (std::size_t size = 1; size < 600'000; size += 1 + size / 16) {
    auto* p = static_cast<unsigned char*>(runtime::allocate_zeroed(size));
    if (p == nullptr) return false;
    good = good && p[0] == 0 && p[size - 1] == 0;
    std::memset(p, static_cast<int>(size), size);
    p = static_cast<unsigned char*>(runtime::reallocate(p, 1 + size * 3 / 2, "realloc"));
    if (p == nullptr) return false;
    good = good && p[0] == p[size - 1] && p[0] == static_cast<unsigned char>(size);
    blocks.push_back(p);
  }
  for (unsigned char* p : blocks) runtime::deallocate(p, "free");
  return good;
}

TEST(ProcessHeap, AThreadThatEndsReturnsItsCache) {
  static_cast<void>(stats());
  void* own = runtime::allocate(64);
  const std::uint64_t threads = stats().total.threads;
  EXPECT_GE(threads, 1u);
  const std::uint64_t in_use = stats().total.bytes_in_use;
  std::vector<void*> left(100);
  std::uint64_t during = 0;
  std::thread([&] {
    for (void*& block : left) block = runtime::allocate(64);
    during = stats().total.threads;
  }).join();
  EXPECT_EQ(during, threads + 1);
  EXPECT_EQ(stats().total.threads, threads);
  EXPECT_EQ(stats().total.bytes_in_use, in_use + 100 * 64) << "only what it left to others";
  for (void* block : left) runtime::deallocate(block, "free");
  runtime::deallocate(own, "free");
  EXPECT_EQ(stats().total.bytes_in_use, in_use - 64);
}

TEST(ProcessHeap, ARunMayBeFreedByASizeThatHasAClass) {
  for (const std::size_t size : {33'000u, 70'000u, 100'000u, 131'072u}) {
    runtime::deallocate_sized(runtime::allocate_zeroed(size), size, "free_sized");
    void* shrunk = runtime::reallocate(runtime::allocate(200'000), size, "realloc");
    runtime::deallocate_sized(shrunk, size, "free_sized");
  }
}

// Another library's thread-exit handler, which may run after the heap's own.
struct late_user {
  std::uint64_t threads_before = 0, threads_inside = 0;
  void* kept = nullptr;
  int rounds = 0;
  pthread_key_t key{};
};

void use_heap_late(void* argument) {
  auto& user = *static_cast<late_user*>(argument);
  void* small = runtime::allocate(100);
  void* large = runtime::allocate(200'000);
  std::memset(small, 1, 100);
  std::memset(large, 1, 200'000);
  small = runtime::reallocate(small, 1000, "realloc");
  runtime::deallocate(small, "free");
  runtime::deallocate(large, "free");
  if (user.kept != nullptr) runtime::deallocate(user.kept, "free");
  user.kept = runtime::allocate(200);
  user.threads_inside = stats().total.threads;
  // Asked for again, so that one round surely comes after the heap's own handler.
  if (++user.rounds < 3) ::pthread_setspecific(user.key, argument);
}

TEST(ProcessHeap, ThreadExitHandlersMayUseItAfterItsOwn) {
  void* own = runtime::allocate(64);
  late_user user;
  ASSERT_EQ(::pthread_key_create(&user.key, use_heap_late), 0);
  user.threads_before = stats().total.threads;
  const std::uint64_t in_use = stats().total.bytes_in_use;
  std::thread([&user] {
    ::pthread_setspecific(user.key, &user);
    runtime::deallocate(runtime::allocate(64), "free");
  }).join();
  EXPECT_EQ(user.rounds, 3);
  EXPECT_EQ(user.threads_inside, user.threads_before) << "no cache is attached again";
  EXPECT_EQ(stats().total.threads, user.threads_before);
  EXPECT_EQ(stats().total.bytes_in_use, in_use + 208) << "blocks of 200 bytes have 208";
  runtime::deallocate(user.kept, "free");
  runtime::deallocate(own, "free");
  ::pthread_key_delete(user.key);
  runtime::the_heap.audit();
}

/// Frees blocks after the heap's own handler has run, while another thread owns the cache that was
/// this one's.
struct late_freer {
  std::vector<void*> blocks;
  int rounds = 0;
  pthread_key_t key{};
};
/// Effects: the calling thread's stack of the class holds some blocks.
void fill_own_stack() {
  std::vector<void*> blocks(20);
  for (void*& block : blocks) block = runtime::allocate(64);
  for (void* block : blocks) runtime::deallocate(block, "free");
}
void free_late(void* argument) {
  auto& user = *static_cast<late_freer*>(argument);
  if (++user.rounds < 3) {
    ::pthread_setspecific(user.key, argument);
    return;
  }
  std::atomic<int> phase{0};
  std::thread heir([&phase] {  // what was given back last is handed out first
    fill_own_stack();
    phase = 1;
    while (phase != 2) std::this_thread::yield();
  });
  while (phase != 1) std::this_thread::yield();
  for (void* block : user.blocks) runtime::deallocate(block, "free");
  phase = 2;
  heir.join();
}

TEST(ProcessHeap, WhatAThreadFreesAfterItsCacheIsGoneComesBack) {
  late_freer user;
  ASSERT_EQ(::pthread_key_create(&user.key, free_late), 0);
  for (int i = 0; i < 4; ++i) user.blocks.push_back(runtime::allocate(64));
  const std::uint64_t in_use = stats().total.bytes_in_use;
  std::thread([&user] {
    ::pthread_setspecific(user.key, &user);
    fill_own_stack();
  }).join();
  EXPECT_EQ(user.rounds, 3);
  EXPECT_EQ(stats().total.bytes_in_use, in_use - user.blocks.size() * 64);
  ::pthread_key_delete(user.key);
  runtime::the_heap.audit();
}

TEST(ProcessHeap, AForkedChildHasAWholeHeap) {
  std::vector<void*> blocks(2000);
  for (void*& block : blocks) block = runtime::allocate(48);
  // A thread with a cache that does not exist in the child.
  std::latch has_cache(1), may_end(1);
  std::thread other([&] {
    runtime::deallocate(runtime::allocate(48), "free");
    has_cache.count_down();
    may_end.wait();
  });
  has_cache.wait();
  const int status = support::exit_status_of([&] {
    if (stats().total.threads != 1) return 2;
    for (void* block : blocks) runtime::deallocate(block, "free");
    if (!serves()) return 3;
    if (!support::sanitized) {  // ThreadSanitizer allows no thread here
      bool is_of_heap = false;  // the reserve would serve, too; a guarded block is shorter
      std::thread([&] {
        is_of_heap = runtime::the_heap.owns(runtime::allocate(4'000'000));
      }).join();
      if (!is_of_heap) return 4;
    }
    runtime::trim();
    runtime::the_heap.audit();
    return 42;
  });
  EXPECT_EQ(status, 42);
  may_end.count_down();
  other.join();
  for (void* block : blocks) runtime::deallocate(block, "free");
}

/// A stream that a second thread flushes together with all others, and that does not end before
/// `let_go`. A fork needs the lock that this thread has: so it waits, after it has closed the heap.
class slow_stream {
 public:
  slow_stream()
      : stream_(::fopencookie(
            this, "w", {.read = nullptr, .write = write, .seek = nullptr, .close = nullptr})) {
    std::fputc('x', stream_);
    flushing_ = std::thread([] { std::fflush(nullptr); });
    begun_.wait(false);
  }
  ~slow_stream() {
    flushing_.join();
    std::fclose(stream_);
  }
  slow_stream(const slow_stream&) = delete;
  slow_stream& operator=(const slow_stream&) = delete;
  void let_go() {
    ends_ = true;
    ends_.notify_all();
  }

 private:
  static ssize_t write(void* self, const char*, std::size_t size) {
    auto& stream = *static_cast<slow_stream*>(self);
    stream.begun_ = true;
    stream.begun_.notify_all();
    stream.ends_.wait(false);
    return static_cast<ssize_t>(size);
  }

  std::FILE* stream_;
  std::atomic<bool> begun_{false}, ends_{false};
  std::thread flushing_;
};

TEST(ProcessHeap, ServesWhileAnotherThreadForksAndFreesAfterIt) {
  if (support::sanitized) GTEST_SKIP() << "a sanitizer's own malloc is locked during a fork";
  constexpr std::size_t size = 3'000;
  const auto of_heap = [](const void* block) { return runtime::the_heap.owns(block); };
  std::vector<void*> before(500);
  for (void*& block : before) block = runtime::allocate(size);
  void* const large = runtime::allocate(1'000'000);
  runtime::trim();
  const std::uint64_t in_use_before = stats().total.bytes_in_use;
  std::vector<void*> meanwhile;
  {
    slow_stream stream;
    // A C library may start no thread while it forks: this one is there, and does nothing before.
    std::atomic<bool> is_under_way{false};
    std::thread other([&is_under_way] {
      is_under_way.wait(false);
      runtime::deallocate(runtime::allocate(10), "free");
    });
    std::thread forking([] {
      runtime::deallocate(runtime::allocate(size), "free");  // it has a cache then
      const auto newest = [] {
        std::vector<void*> of_each;
        for (void** const top : runtime::tops().top) of_each.push_back(top[-1]);
        return of_each;
      };
      const std::vector<void*> mine = newest();
      EXPECT_EQ(support::exit_status_of([] { return serves() ? 42 : 3; }), 42);
      // A handler that interrupted a hit may have forked: so what the others free goes into no
      // cache.
      EXPECT_EQ(newest(), mine);
    });
    // The cache serves until it is empty; then it shows whether the fork is under way. A fork that
    // is late must not cost memory without end.
    while (meanwhile.empty() || of_heap(meanwhile.back())) {
      if (meanwhile.size() == 10'000) {
        for (void* block : meanwhile) runtime::deallocate(block, "free");
        meanwhile.clear();
        std::this_thread::yield();
      }
      meanwhile.push_back(runtime::allocate(size));
      ASSERT_NE(meanwhile.back(), nullptr);
    }
    EXPECT_GE(runtime::usable_size(meanwhile.back(), "test"), size);
    EXPECT_EQ(runtime::trim(), 0u);
    auto* const text = static_cast<char*>(runtime::allocate_zeroed(200'000));
    EXPECT_EQ(std::count(text, text + 200'000, 0), 200'000);
    std::strcpy(text, "moved");
    auto* const moved = static_cast<char*>(runtime::reallocate(text, 900'000, "realloc"));
    EXPECT_STREQ(moved, "moved");
    EXPECT_FALSE(of_heap(moved));
    runtime::deallocate_sized(moved, 900'000, "free");
    EXPECT_GE(runtime::usable_size(large, "test"), 1'000'000u);
    for (void* block : before) runtime::deallocate(block, "free");
    runtime::deallocate(large, "free");
    is_under_way = true;
    is_under_way.notify_all();
    other.join();
    stream.let_go();
    forking.join();
  }
  for (void* block : meanwhile) runtime::deallocate(block, "free");
  EXPECT_LE(stats().total.bytes_in_use + 500 * size + 1'000'000, in_use_before);
  EXPECT_EQ(stats().total.threads, 1u);
  runtime::trim();
  runtime::the_heap.audit();
}

}  // namespace
