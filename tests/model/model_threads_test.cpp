// Random programs against a shadow model, four threads that hand blocks to one another: most blocks
// are freed or reallocated by another thread than the one that asked for them. Threads end and are
// replaced, and what they held is freed by their successors.
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <tests/model/model.hpp>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

constexpr std::size_t thread_count = 4;
constexpr std::uint64_t generations = 6;

/// Where other threads leave blocks. The mutex also orders their writes before our reads.
class mailbox {
 public:
  void post(const model::block& b) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back(b);
  }
  std::vector<model::block> take_all() {
    const std::lock_guard lock(mutex_);
    return std::exchange(blocks_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<model::block> blocks_;
};

struct world {
  std::array<mailbox, thread_count> mailboxes;
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::string what_broke;
};

class worker {
 public:
  worker(world& shared, std::size_t self, std::uint64_t seed, std::uint64_t first_key)
      : world_(shared), random_(seed), self_(self), held_(first_key) {}

  void run(std::uint64_t operations) try {
    for (std::uint64_t done = 0; done < operations && !world_.stop; ++done) {
      if (done % 10'000 == 0) {
        most_blocks_ = 1 + random_.below(5'000);
        most_bytes_ = (1 + random_.below(32)) << 20;
      }
      step();
      if (done % 256 == 0) receive();
      if (done % 8192 == 8191) model::audit_stats(false);
    }
    // Half is freed here, half is left for the next thread with this mailbox.
    while (!held_.empty()) {
      const model::block b = held_.take_last();
      if (random_.chance(50)) {
        xfree(b.address);
      } else {
        world_.mailboxes[self_].post(b);
      }
    }
  } catch (const model::broken& fault) {
    const std::lock_guard lock(world_.mutex);
    if (world_.what_broke.empty()) world_.what_broke = fault.what();
    world_.stop = true;
  }

 private:
  void step() {
    const std::size_t dice = random_.below(1000);
    if (held_.empty() ||
        (dice < 500 && held_.size() < most_blocks_ && held_.bytes() < most_bytes_)) {
      return model::allocate(random_, held_);
    }
    const model::block b = held_.remove(random_.below(held_.size()));
    if (dice >= 600 && dice < 750) {  // the thread that receives it looks at its bytes
      const std::size_t other = (self_ + 1 + random_.below(thread_count - 1)) % thread_count;
      return world_.mailboxes[other].post(b);
    }
    model::live_blocks::verify(b);
    if (dice < 600) return model::reallocate(random_, b, held_);
    xfree(b.address);
    if (dice == 999 && random_.chance(5)) ashlar_trim();
  }

  void receive() {
    for (const model::block& b : world_.mailboxes[self_].take_all()) {
      model::live_blocks::verify(b);
      if (random_.chance(60)) {
        xfree(b.address);
      } else {
        held_.insert(b);
      }
    }
  }

  world& world_;
  support::random_source random_;
  std::size_t self_;
  model::live_blocks held_;
  std::size_t most_blocks_ = 0, most_bytes_ = 0;
};

TEST(Model, RandomProgramsOnFourThreads) {
  const std::uint64_t seed = model::seed(), operations = model::operations(2'400'000);
  std::printf("ASHLAR_SEED=%llu ASHLAR_OPERATIONS=%llu\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(operations));
  ashlar_trim();
  const model::figures before = model::audit_stats(true);
  world shared;
  for (std::uint64_t generation = 0; generation < generations && !shared.stop; ++generation) {
    std::vector<std::thread> threads;
    for (std::size_t self = 0; self < thread_count; ++self) {
      threads.emplace_back([&, self] {
        const std::uint64_t number = generation * thread_count + self;
        worker(shared, self, seed + number, number << 40)
            .run(operations / generations / thread_count);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  ASSERT_EQ(shared.what_broke, "") << "ASHLAR_SEED=" << seed;
  try {
    for (mailbox& box : shared.mailboxes) {
      for (const model::block& b : box.take_all()) {
        model::live_blocks::verify(b);
        xfree(b.address);
      }
    }
    ashlar_trim();
    const model::figures after = model::audit_stats(true);
    EXPECT_EQ(after.blocks, before.blocks) << "everything was freed and every thread has ended";
    EXPECT_EQ(after.bytes, before.bytes) << "everything was freed and every thread has ended";
  } catch (const model::broken& fault) {
    FAIL() << fault.what();
  }
}

}  // namespace
