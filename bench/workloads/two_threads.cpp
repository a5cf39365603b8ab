// bench/workloads/two_threads.cpp: blocks that are freed by another thread than allocated them, and
// threads that come and go. Threads are not pinned; where fewer than two processors are free, these
// measure the scheduler as well.
#include <array>
#include <atomic>
#include <cstdio>
#include <thread>

#include "harness.hpp"

namespace bench {
namespace {

// One writer, one reader, bounded. Each side remembers the other's index and looks again only when
// the ring seems full or empty, so that the shared lines move once for many blocks.
class ring {
 public:
  void push(void* block) {
    if (head_ - tail_seen_ == slots_.size())
      wait_until([&] {
        return head_ - (tail_seen_ = tail_.load(std::memory_order_acquire)) < slots_.size();
      });
    slots_[head_++ % slots_.size()] = block;
    if (head_ % publish_each == 0) publish();
  }
  void publish() { head_shared_.store(head_, std::memory_order_release); }
  void* pop() {
    if (tail_local_ == head_seen_) {
      tail_.store(tail_local_, std::memory_order_release);
      wait_until([&] {
        return (head_seen_ = head_shared_.load(std::memory_order_acquire)) != tail_local_;
      });
    }
    return slots_[tail_local_++ % slots_.size()];
  }

 private:
  static constexpr std::size_t publish_each = 16;
  alignas(64) std::size_t head_ = 0;
  std::size_t tail_seen_ = 0;
  alignas(64) std::atomic<std::size_t> head_shared_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::size_t tail_local_ = 0;
  std::size_t head_seen_ = 0;
  alignas(64) std::array<void*, 1024> slots_{};
};

}  // namespace

void producer_consumer(const arguments&) {
  static ring blocks;
  constexpr std::size_t count = 1'000'000;
  const size_table sizes(16, 256, 23);
  auto elapsed = sample_two_threads(repetitions(7), [&](unsigned self, meeting_point&) {
    if (self == 0) {
      for (std::size_t i = 0; i < count; ++i) {
        void* block = take(sizes[i]);
        touch_first(block, i);
        blocks.push(block);
      }
      blocks.publish();
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        void* block = blocks.pop();
        if (*static_cast<volatile std::uint64_t*>(block) != i) [[unlikely]]
          fail("a block arrived with another one's content");
        give(block);
      }
    }
  });
  auto rate = to_mops(elapsed, count);
  report("producer_consumer", "16-256", "Mops/s", rate, count);
}

void larson(const arguments& given) {
  const std::size_t low = number(given[0], 10, 8, 60'000);
  const std::size_t high = number(given[1], 500, low, 60'000);
  constexpr std::size_t live = 1000, rounds = 20, each_round = 20'000;
  const size_table sizes(low, high, 29);
  std::array<page_array<void*>, 2> arrays{page_array<void*>(live), page_array<void*>(live)};
  for (auto& array : arrays)
    for (std::size_t i = 0; i < live; ++i) touch_first(array[i] = take(sizes[i]));
  auto elapsed = sample_two_threads(repetitions(9), [&](unsigned self, meeting_point& inside) {
    random_source random(31 + self);
    for (unsigned round = 0; round < rounds; ++round) {
      auto& array = arrays[(self + round) % 2];
      for (std::size_t i = 0; i < each_round; ++i) {
        const std::uint64_t drawn = random.next();
        void*& block = array[((drawn >> 32) * live) >> 32];
        give(block);
        touch_first(block = take(sizes[drawn % 4096]));
      }
      inside.wait();
    }
  });
  constexpr std::size_t operations = 2 * rounds * each_round;
  auto rate = to_mops(elapsed, operations);
  char label[48];
  std::snprintf(label, sizeof label, "%zu-%zu", low, high);
  report("larson", label, "Mops/s", rate, operations);
  for (auto& array : arrays) give_all(array);
}

void batches_2t(const arguments& given) {
  const std::size_t size_bytes = number(given[0], 64, 8, 60'000);
  const bool touch = is(given[1], "touch");
  constexpr std::size_t batch = 1000, rounds = 200;
  std::array<page_array<void*>, 2> arrays{page_array<void*>(batch), page_array<void*>(batch)};
  const auto order = shuffled_order(batch, 37);
  auto elapsed = sample_two_threads(repetitions(15), [&](unsigned self, meeting_point& inside) {
    for (std::size_t round = 0; round < rounds; ++round) {
      for (auto& block : arrays[self]) {
        block = take(size_bytes);
        if (touch) touch_first(block);
      }
      inside.wait();
      auto& others = arrays[1 - self];
      for (std::size_t i = 0; i < batch; ++i) give(others[order[i]]);
      inside.wait();
    }
  });
  auto each = to_ns_per(elapsed, batch * rounds);
  char label[32];
  std::snprintf(label, sizeof label, "%zu%s", size_bytes, touch ? "/touch" : "");
  report("batches_2t", label, "ns/pair/thread", each, 2 * batch * rounds);
}

void random_sizes(const arguments&) {
  constexpr std::size_t live = 500, count = 500'000;
  const size_table sizes(16, 16'000, 41);
  std::array<page_array<void*>, 2> arrays{page_array<void*>(live), page_array<void*>(live)};
  auto elapsed = sample_two_threads(repetitions(7), [&](unsigned self, meeting_point&) {
    random_source random(43 + self);
    auto& array = arrays[self];
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t drawn = random.next();
      void*& block = array[((drawn >> 32) * live) >> 32];
      give(block);
      touch_first(block = take(sizes[drawn % 4096]));
    }
  });
  auto rate = to_mops(elapsed, 2 * count);
  report("random_sizes", "16-16000", "Mops/s", rate, 2 * count);
  for (auto& array : arrays) give_all(array);
}

void threads_short(const arguments&) {
  const std::size_t threads = quick ? 3'000 : 10'000;
  constexpr std::size_t blocks_each = 1000, at_once = 2, each_sample = 500;
  const size_table sizes(16, 256, 47);
  const auto life = [&] {
    std::array<void*, blocks_each> blocks;
    for (std::size_t i = 0; i < blocks_each; ++i) touch_first(blocks[i] = take(sizes[i]));
    for (void* block : blocks) give(block);
  };
  auto result = sample(threads / each_sample, each_sample, [&] {
    for (std::size_t i = 0; i < each_sample; i += at_once) {
      std::thread first(life), second(life);
      first.join();
      second.join();
    }
  });
  report("threads_short", "1000x16-256", "ns/thread", result, threads);
}

}  // namespace bench
