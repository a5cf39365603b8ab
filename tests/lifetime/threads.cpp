// What threads may do to a heap at their end: destructors of thread_local objects and of pthread
// keys that allocate and free, blocks that outlive their thread, thousands of short lives.
#include <barrier>
#include <tests/lifetime/program.hpp>

#include <pthread.h>

namespace {

void use_heap(std::uint64_t seed, int rounds) {
  support::random_source random(seed);
  void* blocks[64] = {};
  std::size_t sizes[64] = {};
  for (int i = 0; i < rounds; ++i) {
    const std::size_t at = random.below(64);
    if (blocks[at] != nullptr) {
      REQUIRE(support::find_damage(blocks[at], seed + at, sizes[at]) == sizes[at]);
      face::release(blocks[at]);
    }
    sizes[at] = random.below(random.chance(95) ? 2'000 : 150'000);
    blocks[at] = face::allocate(sizes[at]);
    REQUIRE(blocks[at] != nullptr);
    support::fill_pattern(blocks[at], seed + at, sizes[at]);
  }
  for (void* block : blocks) face::release(block);
}

// ---- thread_local ----

struct local_state {
  void* block = face::allocate(500);
  ~local_state() {
    use_heap(reinterpret_cast<std::uintptr_t>(this), 300);
    face::release(block);
    block = face::allocate(40'000);
    face::release(block);
    ++destroyed;
  }
  static inline std::atomic<int> destroyed = 0;
};

thread_local local_state local_before, local_after;

PROGRAM(thread_locals) {
  constexpr int count = support::sanitized ? 40 : 400;
  for (int i = 0; i < count; i += 4) {
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k) {
      threads.emplace_back([i, k] {
        // One object is made before the thread has used the heap, one after: destructors run both
        // before and after the heap's own at thread exit.
        REQUIRE(local_before.block != nullptr);
        use_heap(static_cast<std::uint64_t>(i + k), 200);
        REQUIRE(local_after.block != nullptr);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  REQUIRE(local_state::destroyed >= count * 2);
}

// Threads that end at the same moment: each one's destructor frees what another left, and leaves a
// block of its own.
std::atomic<void*> left[64];

struct last_exchange {
  std::uint64_t key = 0;
  ~last_exchange() {
    support::random_source random(key);
    for (int i = 0; i < 200; ++i) {
      void* const block = face::allocate(random.below(random.chance(95) ? 1'000 : 100'000) + 8);
      REQUIRE(block != nullptr);
      std::memcpy(block, &block, sizeof block);
      void* const other = left[random.below(std::size(left))].exchange(block);
      if (other == nullptr) continue;
      REQUIRE(std::memcmp(other, &other, sizeof other) == 0);
      face::release(other);
    }
  }
};
thread_local last_exchange final_exchange;

PROGRAM(thread_locals_together) {
  constexpr std::uint64_t rounds = support::sanitized ? 5 : 20;
  constexpr unsigned count = 16;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::barrier end(count);
    std::vector<std::thread> threads;
    for (unsigned k = 0; k < count; ++k) {
      threads.emplace_back([&end, key = round * count + k] {
        final_exchange.key = key;
        use_heap(key, 20);
        end.arrive_and_wait();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (auto& slot : left) face::release(slot.exchange(nullptr));
  face::audit();
}

// ---- pthread keys ----

pthread_key_t early_key, late_key;
std::atomic<int> key_calls = 0;

// POSIX promises four rounds; ThreadSanitizer ends its own life of the thread before the last.
constexpr int key_rounds = support::thread_sanitizer ? 2 : 4;

struct key_value {
  pthread_key_t* key;
  int round;
};

// Each destructor call allocates the value of the next round, until the last one the system makes.
extern "C" void end_of_key(void* value) {
  key_value now;
  std::memcpy(&now, value, sizeof now);
  face::release(value);
  use_heap(static_cast<std::uint64_t>(now.round), 100);
  ++key_calls;
  if (++now.round < key_rounds) {
    void* next = face::allocate(sizeof now + static_cast<std::size_t>(now.round) * 1'000);
    REQUIRE(next != nullptr);
    std::memcpy(next, &now, sizeof now);
    REQUIRE(pthread_setspecific(*now.key, next) == 0);
  }
}

PROGRAM(keys) {
  constexpr int count = support::sanitized ? 40 : 400;
  REQUIRE(pthread_key_create(&early_key, end_of_key) == 0);
  face::release(face::allocate(10));
  REQUIRE(pthread_key_create(&late_key, end_of_key) == 0);
  for (int i = 0; i < count; ++i) {
    std::thread([] {
      for (pthread_key_t* key : {&early_key, &late_key}) {
        void* value = face::allocate(64);
        REQUIRE(value != nullptr);
        const key_value first = {key, 0};
        std::memcpy(value, &first, sizeof first);
        REQUIRE(pthread_setspecific(*key, value) == 0);
      }
    }).join();
  }
  REQUIRE(key_calls == count * 2 * key_rounds);
}

// ---- short lives ----

PROGRAM(short_threads) {
  constexpr int count = support::sanitized ? 400 : 6'000;
  std::size_t after_warming_up = 0;
  for (int i = 0; i < count; i += 8) {
    std::vector<std::thread> threads;
    for (int k = 0; k < 8; ++k) {
      threads.emplace_back([i, k] { use_heap(static_cast<std::uint64_t>(i + k), 150); });
    }
    for (std::thread& thread : threads) thread.join();
    if (i >= count / 10 && after_warming_up == 0) after_warming_up = support::resident_bytes();
  }
  // What a thread cached went back when it ended: nine tenths of the lives added next to nothing.
  const std::size_t at_the_end = support::resident_bytes();
  if (!support::sanitized) REQUIRE(at_the_end < after_warming_up + 24 * mebibyte);
#ifndef ASHLAR_FACE_DROP_IN
  static ashlar_stats stats;
  ashlar_stats_get(&stats);
  REQUIRE(stats.total.threads <= 2);
#endif
}

// ---- blocks that outlive their thread ----

PROGRAM(outlive) {
  constexpr int rounds = support::sanitized ? 20 : 150;
  constexpr std::size_t count = 2'000;
  for (int round = 0; round < rounds; ++round) {
    std::vector<void*> blocks(count);
    const auto size = [&](std::size_t i) { return i % 100 == 99 ? 100'000 : i % 1'500 + 1; };
    std::thread([&] {
      for (std::size_t i = 0; i < count; ++i) {
        blocks[i] = face::allocate(size(i));
        REQUIRE(blocks[i] != nullptr);
        support::fill_pattern(blocks[i], i, size(i));
      }
    }).join();
    std::thread other([&] {  // allocates the same sizes: must not get what is still in use
      for (std::size_t i = 0; i < count; ++i) {
        void* block = face::allocate(size(i));
        REQUIRE(block != nullptr);
        std::memset(block, 0xee, size(i));
        if (i % 2 == 0) face::release(blocks[i]);
        face::release(block);
      }
    });
    for (std::size_t i = 1; i < count; i += 2) {
      REQUIRE(support::find_damage(blocks[i], i, size(i)) == size(i));
    }
    other.join();
    for (std::size_t i = 1; i < count; i += 2) {
      REQUIRE(support::find_damage(blocks[i], i, size(i)) == size(i));
      face::release(blocks[i]);
    }
  }
}

// ---- the process ends while threads use the heap ----

PROGRAM(exit_while_busy) {
  for (int i = 0; i < 3; ++i) {
    std::thread([i] {
      for (std::uint64_t round = 0;; ++round)
        use_heap(round * 3 + static_cast<std::uint64_t>(i), 50);
    }).detach();
  }
  std::thread([] {
    use_heap(99, 2'000);
    std::exit(0);  // by another thread than the main one
  }).join();
  std::exit(1);
}

}  // namespace
